"""Every rule is held against its fixtures, and its metadata is complete."""

import re
from pathlib import Path

import pytest

import constructs_lib.rules
from constructs_lib.rules import Kind, Phase, Severity, rule_ids, rules
from constructs_lib.rules.registry import AREAS, _modules, rules_for

RULES = Path(constructs_lib.rules.__file__).parent

# Ids are public: a new rule takes the next free number, and no id ever leaves this list.
PINNED = {
    "GPU-IAM": list(range(1, 13)),
    "GPU-PL": [*range(1, 28)],
    "GPU-TP": [*range(1, 18)],
    "GPU-CB": [*range(1, 4)],
    "GPU-EP": [*range(1, 13)],
    "GPU-WF": [*range(1, 11)],
}


def test_a_bad_fixture_is_found_exactly_where_it_says(bad):
    assert bad.complaint() is None


def test_a_good_fixture_is_clean(good):
    assert good.complaint() is None


def test_a_good_fixture_breaks_no_other_rule(good):
    assert [str(finding) for finding in good.findings() if finding.severity == "error"] == []


def test_unknown_values_are_unverified_and_never_more(unknown):
    assert unknown.complaint() is None


def test_every_rule_has_a_bad_a_good_and_an_unknown_fixture(rule_fixtures):
    for prefix, found in rule_fixtures.items():
        assert {fixture.rule for fixture in found} == rule_ids(), prefix


def test_every_fixture_stands_in_the_folder_of_a_rule(rule_fixtures):
    assert {fixture.rule for found in rule_fixtures.values() for fixture in found} <= rule_ids()


def test_every_severity_that_a_rule_names_is_shown_by_a_bad_fixture(rule_fixtures):
    shown = {(fixture.rule, severity) for fixture in rule_fixtures["bad"] for severity, _ in fixture.expect}
    named = {(rule.id, str(severity)) for rule in rules() for severity in rule.finds if severity != "unverified"}
    assert shown == named


def test_the_ids_are_pinned():
    assert rule_ids() == {f"{area}{number:02d}" for area, numbers in PINNED.items() for number in numbers}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
class TestMetadata:
    def test_the_id_is_the_start_of_the_file_name(self, rule):
        module = rule.check.__module__.rsplit(".", 1)[1]
        assert rule.id == f"GPU-{module.split('_')[0].upper()}"
        assert module.split("_", 1)[1] == rule.check.__name__

    def test_every_attribute_is_said_in_words(self, rule):
        assert re.fullmatch(r"GPU-[A-Z]{2,3}\d\d", rule.id)
        assert rule.kinds
        assert all(isinstance(kind, Kind) for kind in rule.kinds)
        assert all(isinstance(severity, Severity) for severity in rule.finds)
        assert isinstance(rule.phase, Phase)
        for words in (rule.title, rule.why, rule.fix, rule.source, *rule.finds.values()):
            assert len(words) > 9
            assert not words.endswith(".")

    def test_the_source_is_one_that_a_reader_can_open(self, rule):
        assert re.search(
            r"botocore|API_|guide|https://|moto|cfn-lint|service-authorization|policy reference", rule.source
        )

    def test_what_it_suppresses_exists(self, rule):
        assert set(rule.suppresses) <= rule_ids() - {rule.id}

    def test_its_folder_is_asked_for_its_kinds(self, rule):
        area = rule.check.__module__.split(".")[-2]
        assert set(rule.kinds) <= set(AREAS[area])


def test_a_rule_file_holds_one_rule_and_stays_small():
    for area in AREAS:
        for module in _modules(area).values():
            text = (RULES / area / f"{module.rsplit('.', 1)[1]}.py").read_text()
            assert len(re.findall(r"^@rule\(", text, re.MULTILINE)) == 1, module
            assert len(text.splitlines()) <= 120, module


def test_every_folder_of_rules_is_an_area():
    folders = {path.parent.name for path in RULES.glob("*/*.py") if re.match(r"[a-z]{2,3}\d\d_", path.name)}
    assert folders <= set(AREAS)


def test_messages_start_in_lower_case_or_with_a_name_of_the_api(rule_fixtures):
    for fixture in rule_fixtures["bad"] + rule_fixtures["unknown"]:
        for finding in fixture.own():
            first = finding.message.split()[0]
            of_the_api = re.search(r"[a-z][A-Z]|^[^A-Za-z]|^[A-Z]{2}|\w\.\w", first)
            assert first[0].islower() or of_the_api, finding.message
            assert not finding.message.endswith("."), finding.message


def test_findings_of_every_fixture_are_plain_data(rule_fixtures):
    keys = ["rule", "severity", "phase", "message", "fix", "source", "path", "file", "resource", "line"]
    for fixture in rule_fixtures["bad"]:
        for finding in fixture.own():
            assert sorted(finding.to_dict()) == sorted(keys)
            assert type(finding.to_dict()["severity"]) is str


def test_rules_of_a_kind_are_ordered_by_id():
    for kind in Kind:
        ids = [rule.id for rule in rules_for(kind)]
        assert ids == sorted(ids)
