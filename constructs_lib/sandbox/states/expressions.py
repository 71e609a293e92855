"""JSONata, variables and JSONPath: what moto leaves to a Java machine, or pastes into the expression as text."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import random
import uuid
from typing import Any

from jsonata import Jsonata
from jsonata.functions import Functions
from jsonata.jexception import JException
from jsonata.utils import Utils
from moto.stepfunctions.parser.asl.component.common.path import result_path
from moto.stepfunctions.parser.asl.utils import json_path

from . import engine
from .failures import failed
from .patching import ENGINE, needs, replaces

__all__ = ["evaluate"]

_STRING = ENGINE + "asl.component.common.string.string_expression:"
_JSON_PATH = ENGINE + "asl.utils.json_path:"

needs(_JSON_PATH + "NoSuchJsonPathError.__init__", "self json_path data")
needs(ENGINE + "asl.eval.variable_store:VariableStore.set", "self variable_identifier variable_value")

_HASHES = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}


class _UndefinedError(Exception):
    """An expression returned nothing."""


def evaluate(expression: str, variables: dict[str, Any]) -> Any:
    """Evaluate a JSONata expression.

    Raises
    ------
    ValueError
        If it is no JSONata, fails, or returns something that is not JSON.
    """
    try:
        compiled = Jsonata(expression)
        compiled.set_output_convert_nulls(False)
        for name, function in _functions().items():
            compiled.register_lambda(name, function)
        bindings = {name: Utils.NULL_VALUE if value is None else value for name, value in variables.items()}
        result = compiled.evaluate(None, bindings)
    except JException as error:
        raise ValueError(str(error)) from error
    except (ArithmeticError, AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if result is None:
        raise _UndefinedError
    return _plain(result)


def _plain(value: Any) -> Any:
    """Return the library's lists and nulls as plain JSON, sharing nothing with the variables."""
    if value is None or value is Utils.NULL_VALUE:
        return None
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(value[index]) for index in range(len(value))]  # a range knows its length, not its items
    raise ValueError(f"the result is a {type(value).__name__}, which is no JSON value")


def _functions() -> dict[str, Any]:
    """Return the functions that Step Functions adds to JSONata; time is virtual."""
    millis = int(engine.current().context.clock.now() * 1000)
    return {
        "partition": lambda array, size: [array[i : i + int(size)] for i in range(0, len(array), int(size))],
        "range": _range,
        "hash": lambda value, algorithm: hashlib.new(_HASHES[algorithm], str(value).encode()).hexdigest(),
        "random": lambda seed=None: (random.Random(seed) if seed is not None else random).random(),  # noqa: S311
        "uuid": lambda: str(uuid.uuid4()),
        "parse": json.loads,
        "millis": lambda: millis,
        "now": lambda picture=None, zone=None: Functions.datetime_from_millis(millis, picture, zone),
    }


def _range(first: float, last: float, step: float) -> list[float]:
    count = math.floor((last - first) / step) + 1
    return [first + index * step for index in range(max(count, 0))]


def _variables(env: Any) -> dict[str, Any]:
    store = env.variable_store
    return {**store._outer_scope, **store._inner_scope}  # noqa: SLF001 - moto offers them as text only


@replaces(_STRING + "StringJSONata._eval_body", "self env")
def _jsonata(self: Any, env: Any) -> None:
    states = {k: v for k, v in env.states._states_data.items() if v is not None or k == "input"}  # noqa: SLF001
    states["context"] = env.states.context_object.context_object_data
    try:
        env.stack.append(evaluate(self.expression, {**_variables(env), "states": states}))
    except (_UndefinedError, ValueError) as error:
        why = "returned nothing (undefined)" if isinstance(error, _UndefinedError) else f"failed: {error}"
        cause = f"The JSONata expression '{self.expression}' {why}."
        raise failed(env, "States.QueryEvaluationError", cause, "EvaluationFailed") from error


@replaces(_STRING + "StringVariableSample._eval_body", "self env")
def _variable(self: Any, env: Any) -> None:
    variables = _variables(env)
    try:
        env.stack.append(evaluate(self.expression, variables))
    except (_UndefinedError, ValueError) as error:
        raise json_path.NoSuchJsonPathError(json_path=self.expression, data=variables) from error


@replaces(ENGINE + "asl.component.common.assign.assign_decl:AssignDecl._eval_body", "self env")
def _assign(self: Any, env: Any) -> None:
    for binding in self.declaration_bindings:  # they take effect when the state is left: Output sees the old values
        binding.eval(env=env)
        env.assignments.update(env.stack.pop())


# Parsing a path costs milliseconds and gives a value that never changes.
replaces(_JSON_PATH + "parse", None)(functools.lru_cache(maxsize=4096)(json_path.parse))
replaces(ENGINE + "asl.component.common.path.result_path:parse", None)(
    functools.lru_cache(maxsize=4096)(result_path.parse)
)
