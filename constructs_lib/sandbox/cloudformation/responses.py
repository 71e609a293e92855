"""Where custom resources answer: one-time addresses on the sandbox's own port, in place of presigned S3 URLs."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["PREFIX", "Mailbox", "Responses"]

PREFIX = "/_cloudformation/response/"


@dataclass
class Mailbox:
    """One request's answer.

    Parameters
    ----------
    url
        The ResponseURL.
    arrived
        Set by the first answer, and by whoever ends the wait.
    body
        The first answer; later ones are accepted and never read, as an object in S3 would be.
    """

    url: str
    arrived: threading.Event = field(default_factory=threading.Event)
    body: bytes | None = None


class Responses:
    """All answers that are, or were, waited for."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._boxes: dict[str, Mailbox] = {}
        self._lock = threading.Lock()

    def open(self) -> Mailbox:
        """Return a new mailbox."""
        key = uuid.uuid4().hex
        box = Mailbox(f"{self._url}{PREFIX}{key}")
        with self._lock:
            self._boxes[key] = box
        return box

    def app(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Take an answer; a WSGI application for paths under `PREFIX`."""
        box = self._boxes.get(environ.get("PATH_INFO", "").removeprefix(PREFIX))
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if box is None or environ["REQUEST_METHOD"] != "PUT":
            start_response("403 Forbidden", [("Content-Length", "0")])
            return [b""]
        with self._lock:
            if box.body is None:
                box.body = body
        box.arrived.set()
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]
