"""A look behind SageMaker's front, and a hand on its capacity, for people and tests in other processes."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .service import SageMaker

__all__ = ["CONTROL_PREFIX", "Control"]

CONTROL_PREFIX = "/_sandbox/sagemaker/"
_HELP = (
    f"{CONTROL_PREFIX} has GET evaluations/<job>, invocations/<endpoint>, endpoints/<endpoint> and scaling, and POST"
    " free and endpoints/<endpoint>"
)
_STATUS = 'give a JSON body such as {"status": "SystemUpdating"}'
_FREE = 'give a JSON body such as {"instance_type": "ml.p5.48xlarge", "free": 8, "zone": null}'


class Control:
    """Answers what `CONTROL_PREFIX` begins.

    ``GET evaluations/<job>``, ``invocations/<endpoint>``, ``endpoints/<endpoint>`` (its log) and ``scaling`` look;
    ``POST free`` and ``endpoints/<endpoint>`` (its status) change.

    Parameters
    ----------
    sagemaker
        What it looks behind.
    """

    def __init__(self, sagemaker: SageMaker) -> None:
        self._sagemaker = sagemaker

    def app(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request; a WSGI application."""
        what, _, name = environ.get("PATH_INFO", "").removeprefix(CONTROL_PREFIX).partition("/")
        status = 200
        answer: Any = None
        try:
            looks: dict[str, Callable[[], Any]] = {
                "evaluations": lambda: self._sagemaker.evaluations(name),
                "invocations": lambda: self._sagemaker.endpoints.invocations(name),
                "endpoints": lambda: self._sagemaker.endpoints.log(name),
            }
            if what == "free":
                self._set_free(environ)
            elif what == "scaling":
                answer = self._sagemaker.scaling.activities
            elif what == "endpoints" and name and environ["REQUEST_METHOD"] == "POST":
                self._set_status(name, environ)
            elif what in looks and name:
                answer = looks[what]()
            else:
                status, answer = 404, {"message": _HELP}
        except SandboxError as error:
            status, answer = 400, {"message": str(error)}
        body = json.dumps(answer).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return [body]

    def _set_status(self, name: str, environ: dict[str, Any]) -> None:
        try:
            status = str(_given(environ)["status"])
        except (ValueError, TypeError, KeyError):
            raise SandboxError(_STATUS) from None
        self._sagemaker.endpoints.set_status(name, status)

    def _set_free(self, environ: dict[str, Any]) -> None:
        try:
            given = _given(environ)
            instance_type, free, zone = given["instance_type"], float(given["free"]), given.get("zone")
        except (ValueError, TypeError, KeyError):
            raise SandboxError(_FREE) from None
        self._sagemaker.set_free(instance_type, free, zone)


def _given(environ: dict[str, Any]) -> Any:
    return json.loads(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))
