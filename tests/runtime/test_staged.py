"""Every handler starts from a staged copy of what ships, with an isolated Python."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import constructs_lib.runtime.handlers
from constructs_lib.shared import assets

HANDLERS = sorted(path.stem for path in Path(constructs_lib.runtime.handlers.__path__[0]).glob("[!_]*.py"))
START = """
import importlib, json, sys
sys.path[:0] = [sys.argv[1]]
sys.path.append(sys.argv[2])
found = {}
for name in sys.argv[3:]:
    module = importlib.import_module(f"constructs_lib.runtime.handlers.{name}")
    found[name] = [callable(module.handler), module.__file__.startswith(sys.argv[1])]
print(json.dumps([found, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def test_every_handler_imports_from_a_staged_copy_under_an_isolated_python(tmp_path):
    assets.stage(tmp_path)
    command = [sys.executable, "-I", "-S", "-c", START, str(tmp_path), sysconfig.get_path("purelib"), *HANDLERS]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found, modules = json.loads(run.stdout)
    assert found == {name: [True, True] for name in HANDLERS}
    assert {"launcher", "drain"} <= set(HANDLERS)
    assert not {"aws_cdk", "boto3", "yaml", "jsii", "moto"} & set(modules)
