"""Answering CloudFormation, which waits at a presigned URL for what a custom resource's function has to say."""

from __future__ import annotations

import http.client
import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["answer_to", "deliver"]

_LONGEST = 4000  # CloudFormation takes answers of up to 4,096 bytes
_ANSWER_TRIES = 4
_CUT = "..."


def answer_to(
    event: Mapping[str, Any],
    physical_id: str,
    *,
    failure: str = "",
    reason: str = "",
    data: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the answer to an event, with its longest texts cut until CloudFormation takes it.

    Parameters
    ----------
    event : Mapping
    physical_id : str
    failure : str
        Why the request is refused; without it the answer is SUCCESS.
    reason : str
        Words beside a success.
    data : Mapping, optional
        The attributes; what is cut is the longest of them, or the reason.
    """
    texts = {"Reason": failure or reason}
    answer = {
        "Status": "FAILED" if failure else "SUCCESS",
        "PhysicalResourceId": physical_id,
        **{key: event[key] for key in ("StackId", "RequestId", "LogicalResourceId")},
    }
    attributes = dict(data or {})

    def whole() -> dict[str, Any]:
        return answer | texts | ({"Data": attributes} if attributes else {})

    while (over := len(json.dumps(whole()).encode()) - _LONGEST) > 0:
        holder, key = max(
            ((holder, key) for holder in (texts, attributes) for key in holder), key=lambda at: len(at[0][at[1]])
        )
        text = holder[key]
        kept = max(0, len(text) - over - len(_CUT)) if text.isascii() else len(text) // 2
        holder[key] = text[:kept] + _CUT if kept else ""
    return whole()


def deliver(event: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    """Put an answer where CloudFormation waits for it.

    Raises
    ------
    OSError, http.client.HTTPException
        If it cannot be delivered; Lambda will deliver the event again.
    """
    body = json.dumps(answer).encode()
    for last in (*[False] * (_ANSWER_TRIES - 1), True):
        try:
            if _put(event["ResponseURL"], body) < 300:
                return
        except (OSError, http.client.HTTPException):
            if last:
                raise
        time.sleep(1.0)
    raise ConnectionError("CloudFormation did not take the answer; Lambda will deliver the event again")


def _put(url: str, body: bytes) -> int:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=10)
    try:
        # The presigned URL was signed without a content type.
        connection.request("PUT", f"{parts.path}?{parts.query}", body, {"Content-Type": ""})
        return connection.getresponse().status
    finally:
        connection.close()
