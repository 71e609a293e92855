"""Deploying an app to the sandbox with the real CDK CLI."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constructs_lib.cli.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from constructs_lib.sandbox import Sandbox

__all__ = ["cdk_command", "cdk_environment", "deploy"]


def cdk_command(app: Path) -> list[str]:
    """Return how to run the CDK CLI: the app's pinned one, else the one on PATH."""
    pinned = app / "node_modules" / "aws-cdk" / "bin" / "cdk"
    if pinned.exists():
        return [_node(), str(pinned.resolve())]
    if found := shutil.which("cdk"):
        return [found]
    raise UsageError(
        f"the CDK CLI was found neither in {app / 'node_modules'} nor on PATH; run `npm ci` in {app} (or `make setup`)"
    )


def _node() -> str:
    venv_node = Path(sys.executable).parent / "node"
    return str(venv_node) if venv_node.exists() else "node"


def cdk_environment(sandbox: Sandbox) -> dict[str, str]:
    """Return the environment of a CDK CLI that must see only the sandbox, and the node of this venv first."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "CDK"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    return {**kept, **sandbox.environment(), "PATH": path, "CI": "true"}


def deploy(sandbox: Sandbox, app: Path, console: Console) -> dict[str, Any]:
    """Deploy every stack of ``app`` and return their outputs, merged.

    Raises
    ------
    UsageError
        If there is no app, no CDK CLI, or the deployment failed: with the last lines that the CLI printed.
    """
    if not (app / "cdk.json").exists():
        raise UsageError(f"no cdk.json in {app.resolve()}; run this in a CDK app's folder or name it with --app DIR")
    with tempfile.TemporaryDirectory(prefix="gpucap-demo-") as folder:
        outputs, log = Path(folder) / "outputs.json", Path(folder) / "cdk.log"
        command = [
            *cdk_command(app),
            *("deploy", "--all", "--require-approval", "never", "--no-notices", "--ci"),
            *("--output", str(Path(folder) / "cdk.out"), "--outputs-file", str(outputs)),
        ]
        with console.status("cdk deploy"), log.open("w") as sink:
            done = subprocess.run(  # noqa: S603 - the command is ours
                command, cwd=app, env=cdk_environment(sandbox), stdout=sink, stderr=subprocess.STDOUT, check=False
            )
        if done.returncode != 0:
            tail = "\n".join(log.read_text().splitlines()[-25:])
            raise UsageError(f"cdk deploy failed with exit code {done.returncode}:\n{tail}")
        stacks: dict[str, dict[str, Any]] = json.loads(outputs.read_text())
    merged = {key: value for stack in stacks.values() for key, value in stack.items()}
    console.print(f"[green]deployed[/green] {', '.join(stacks)} with the CDK CLI to {sandbox.url}")
    return merged
