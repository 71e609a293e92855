"""Generated pages and data are what their generator writes today."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

from constructs_lib.rules import rules

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "scripts" / "generate_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def check(generator, monkeypatch):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["generate_docs.py", *arguments])
        return generator.main()

    return run


def test_no_generated_file_is_stale(check, capsys):
    assert check("--check") == 0, capsys.readouterr().out


def test_a_stale_file_is_noticed_and_left_alone_until_it_is_written(generator, check, monkeypatch, tmp_path, capsys):
    page = tmp_path / "rules.md"
    page.write_text(generator.rules_page().replace("GPU-PL02", "GPU-PL99"))
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    monkeypatch.setattr(generator, "GENERATED", {page: generator.rules_page})
    assert check("--check") == 1
    assert capsys.readouterr().out == "stale: rules.md\n"
    assert "GPU-PL99" in page.read_text()
    assert check() == 0
    assert check("--check") == 0


def test_every_rule_has_a_section_with_reason_fix_source_and_two_examples():
    page = (ROOT / "docs" / "rules.md").read_text()
    sections = dict(re.findall(r"^### (GPU-\S+)\n(.*?)(?=^### |^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert list(sections) == sorted(sections, key=list(sections).index)
    assert set(sections) == {rule.id for rule in rules()}
    for rule in rules():
        section = sections[rule.id]
        for words in (rule.title, rule.why, rule.fix, rule.source, *rule.finds.values()):
            assert words in section, (rule.id, words)
        assert re.search(r"^Bad \(", section, re.MULTILINE), rule.id
        assert re.search(r"^Good \(", section, re.MULTILINE), rule.id
        for block in re.findall(r"```json\n(.*?)```", section, re.DOTALL):
            json.loads(block)


def test_every_rule_has_examples_to_explain_it_with():
    examples = json.loads((ROOT / "constructs_lib" / "cli" / "rule_examples.json").read_text())
    assert set(examples) == {rule.id for rule in rules()}
    assert all(example["bad"] and example["good"] for example in examples.values())
