"""The real CDK CLI, as a person would run it, and our own command line against a sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from constructs_lib.cli.main import main

CLI = Path(__file__).parents[2] / "node_modules" / "aws-cdk" / "bin" / "cdk"


@pytest.fixture(scope="session")
def cdk() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the CDK CLI in a folder; no variable of ours may begin with CDK, those it takes for options."""

    def run(folder: Path, *arguments: str, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
            "CDK_VALIDATION": "false",
            "CI": "true",
            **variables,
        }
        command = ["node", str(CLI), *arguments, "--no-notices", "--no-version-reporting", "--no-color", "--ci"]
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    return run


@pytest.fixture
def gpucap(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run one of our commands in this process; return its exit code and what it wrote."""

    def run(*arguments: str) -> tuple[int, str]:
        code = main(list(arguments))
        caught = capsys.readouterr()
        return code, caught.out + caught.err

    return run
