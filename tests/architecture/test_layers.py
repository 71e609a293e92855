"""The layers are folders, and imports go one way."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def lint_imports(cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_every_import_contract_holds():
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout


def test_every_package_is_the_source_of_a_contract():
    packages = {p.parent.name for p in (ROOT / "constructs_lib").glob("*/__init__.py")} - {"cli"}
    sources = {m.split(".")[1] for c in CONTRACTS for m in c.get("source_modules", [])}
    assert packages <= sources


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [("facts", "botocore"), ("model", "aws_cdk"), ("rules", "boto3"), ("runtime", "aws_cdk"), ("sandbox", "aws_cdk")],
)
def test_a_planted_import_breaks_a_contract(tmp_path, module, forbidden):
    package = tmp_path / "constructs_lib"
    names = {
        m.split(".")[1]
        for c in CONTRACTS
        for k in ("source_modules", "forbidden_modules")
        for m in c.get(k, [])
        if "." in m
    }
    for name in names:
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / module / "__init__.py").write_text(f"import {forbidden}\n")
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    result = lint_imports(tmp_path)
    assert result.returncode == 1, result.stdout
    assert forbidden in result.stdout
