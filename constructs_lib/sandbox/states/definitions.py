"""What Step Functions refuses in a definition and the grammar does not see: transitions that lead nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["problems", "with_floats"]


def problems(program: Any, path: str = "") -> Iterator[str]:
    """Yield what is wrong with the transitions of a program and of those inside it.

    Examples
    --------
    >>> list(problems({"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}, "C": {"Type": "Succeed"}}}))
    ["no state is named 'B' at /States/A", "no state leads to 'C' at /States/C"]
    """
    if not isinstance(program, dict) or not isinstance(program.get("States"), dict):
        return
    states = program["States"]
    wanted = [(program.get("StartAt"), f"{path}/StartAt")]
    for name, state in states.items():
        here = f"{path}/States/{name}"
        if isinstance(state, dict):
            wanted += [(target, here) for target in _targets(state) if target != name]
            for inner, place in _inner(state):
                yield from problems(inner, here + place)
    for target, where in wanted:
        if target not in states:
            yield f"no state is named {target!r} at {where}"
    known = {target for target, _ in wanted}
    yield from (f"no state leads to {name!r} at {path}/States/{name}" for name in states if name not in known)


def with_floats(value: Any) -> Any:
    """Return a definition whose ToleratedFailurePercentage is no integer, which the grammar refuses."""
    if isinstance(value, dict):
        return {
            key: float(item) if key == "ToleratedFailurePercentage" and type(item) is int else with_floats(item)
            for key, item in value.items()
        }
    return [with_floats(item) for item in value] if isinstance(value, list) else value


def _targets(state: dict[str, Any]) -> Iterator[Any]:
    """Yield the names of the states that a state may lead to."""
    for rule in [state, *state.get("Choices", []), *state.get("Catch", [])]:
        if "Next" in rule:
            yield rule["Next"]
    if "Default" in state:
        yield state["Default"]


def _inner(state: dict[str, Any]) -> Iterator[tuple[Any, str]]:
    """Yield the programs inside a state."""
    for number, branch in enumerate(state.get("Branches", [])):
        yield branch, f"/Branches[{number}]"
    for field in ("ItemProcessor", "Iterator"):
        if field in state:
            yield state[field], f"/{field}"
