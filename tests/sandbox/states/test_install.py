"""The engine's patches are checked before they are made, and serve one sandbox after another."""

from __future__ import annotations

import importlib.metadata
import json
import re
from pathlib import Path
from typing import Any

import pytest
from moto.stepfunctions.parser.asl.component.common.retry.retrier_decl import RetrierDecl

from constructs_lib.facts import unknowns
from constructs_lib.sandbox import Clock, Faults, SandboxError, states
from constructs_lib.sandbox.context import Context
from constructs_lib.sandbox.states import patching


@pytest.fixture
def unapplied(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The declared patches, as if none had been applied yet; a copy that a test may change."""
    patches: list[Any] = []
    monkeypatch.setattr(patching, "_patches", patches)
    monkeypatch.setattr(patching, "_originals", {})
    return patches


def test_another_version_of_moto_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "5.3.0")
    with pytest.raises(SandboxError, match=r"moto 5\.3\.0 is installed.*install moto==5\.2\.5"):
        states.install(_context())


@pytest.mark.parametrize(
    ("target", "parameters", "words"),
    [
        ("moto.stepfunctions.parser.models:StepFunctionsParserBackend.no_such", "self", "no_such is missing"),
        ("moto.stepfunctions.parser.models:NoSuch.method", "self", "NoSuch.method has no owner"),
        ("moto.stepfunctions.no_such:function", "self", "no_such:function has no owner"),
        (
            "moto.stepfunctions.parser.asl.utils.json_path:_contains_slice_or_wildcard_array",
            "path data",
            "takes (path), not (path, data)",
        ),
    ],
)
def test_a_name_that_moto_changed_is_named(unapplied: list[Any], target: str, parameters: str, words: str) -> None:
    patching.replaces(target, parameters)(lambda: None)
    with pytest.raises(SandboxError, match=re.escape(words)):
        patching.check()


def test_an_operation_that_moto_has_by_now_is_named(unapplied: list[Any]) -> None:
    patching.adds("moto.stepfunctions.responses:StepFunctionResponse", "start_execution")(lambda: None)
    with pytest.raises(SandboxError, match="start_execution exists already"):
        patching.check()


def test_every_change_of_the_engine_is_declared_and_in_place() -> None:
    states.install(_context())
    assert RetrierDecl._eval_body.__module__ == "constructs_lib.sandbox.states.waiting"
    changed = [patch for patch in patching._patches if patch.replacement is not None]
    assert len(changed) > 50
    for patch in changed:
        owner, name = patching._owner(patch.target)
        there = vars(owner)[name]
        there = getattr(there, "__func__", there)
        assert there is not patching.original(patch.target), patch.target
    states.close()


def test_a_machine_without_a_sandbox_says_what_is_missing() -> None:
    states.close()
    with pytest.raises(SandboxError, match=r"call constructs_lib\.sandbox\.states\.install"):
        states.engine.current()


def test_every_open_question_is_read_and_every_reading_that_is_read_is_a_question() -> None:
    folder = Path(states.__file__).parent
    read = set(re.findall(r'reading\("(states\.[a-z-]+)"\)', "".join(path.read_text() for path in folder.glob("*.py"))))
    assert read == {name for name in unknowns() if name.startswith("states.")}


def _context() -> Context:
    return Context(clock=Clock(), faults=Faults(), emit=lambda *event: json.dumps(event), client=lambda service: None)
