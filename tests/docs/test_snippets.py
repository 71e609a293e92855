"""Every Python block of the README and the cookbook runs as it stands; every link leads somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "cookbook").glob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def programs(text):
    """Yield each block; one that does not import aws_cdk goes on where the one before it ended."""
    before = ""
    for code in BLOCK.findall(text):
        before = code if "import aws_cdk" in code else before + code
        yield before


def run(code, folder):
    environment = {**os.environ, "CDK_VALIDATION": "false", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run(page, tmp_path):
    for code in programs(page.read_text()):
        done = run(code, tmp_path)
        assert done.returncode == 0, f"{code}\n{done.stderr[-2000:]}"


def test_a_block_that_fails_would_be_seen(tmp_path):
    assert run("import constructs_lib\nconstructs_lib.NoSuchName", tmp_path).returncode == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    targets = [page.parent / target for target in LINK.findall(page.read_text())]
    assert [str(target) for target in targets if not target.exists()] == []


def test_the_readme_names_every_cookbook_page():
    readme = (ROOT / "README.md").read_text()
    assert [page.name for page in PAGES[1:] if f"docs/cookbook/{page.name}" not in readme] == []
