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
_FREE = 'give a JSON body such as {"instance_type": "ml.p5.48xlarge", "free": 8, "zone": null}'


class Control:
    """Answers ``GET evaluations/<job>`` and ``POST free`` under `CONTROL_PREFIX`.

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
            if what == "evaluations" and name:
                answer = self._sagemaker.evaluations(name)
            elif what == "free":
                self._set_free(environ)
            else:
                status, answer = 404, {"message": f"{CONTROL_PREFIX} has GET evaluations/<job> and POST free"}
        except SandboxError as error:
            status, answer = 400, {"message": str(error)}
        body = json.dumps(answer).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return [body]

    def _set_free(self, environ: dict[str, Any]) -> None:
        try:
            given = json.loads(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))
            instance_type, free, zone = given["instance_type"], float(given["free"]), given.get("zone")
        except (ValueError, TypeError, KeyError):
            raise SandboxError(_FREE) from None
        self._sagemaker.set_free(instance_type, free, zone)
