"""What AWS call an HTTP request is, and how its protocol words an error."""

from __future__ import annotations

import functools
import io
import json
import re
import struct
import uuid
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote
from xml.sax.saxutils import escape

import botocore.session
from botocore.exceptions import UnknownServiceError

from .errors import ServiceError

__all__ = ["Call", "Response", "error_response", "json_response", "read_call", "sdk_name", "signing_name"]

Response = tuple[int, dict[str, str], bytes]
_CREDENTIAL = re.compile(r"Credential=[^/]+/\d+/([^/]+)/([^/]+)/aws4_request")
_APP_ID = re.compile(r"\bapp/(\S+)")
# SigV4's name -> botocore's
_SDK_NAMES = {"states": "stepfunctions", "monitoring": "cloudwatch", "servicequotas": "service-quotas"}
_FORM = "application/x-www-form-urlencoded"
_JSON, _QUERY, _CBOR, _REST = "json", "query", "cbor", "rest"


@dataclass
class Call:
    """One AWS API call.

    Parameters
    ----------
    service
        SigV4's name, such as ``states``.
    operation
        The operation's name, empty if the request names none that botocore knows.
    request
        Parameters: a JSON body, Query fields, or what a REST call's path and headers say and its JSON body.
    protocol
        ``json``, ``query``, ``cbor`` or ``rest``.
    caller
        The application id in the User-Agent, by which a Lambda worker is known.
    body
        The bytes of a REST call.
    """

    service: str
    operation: str
    request: dict[str, Any] = field(default_factory=dict)
    protocol: str = _JSON
    caller: str = ""
    body: bytes = b""


def sdk_name(service: str) -> str:
    """Return botocore's name of a service that SigV4 names."""
    return _SDK_NAMES.get(service, service)


def signing_name(service: str) -> str:
    """Return SigV4's name of a service that botocore or SigV4 names."""
    return next((signing for signing, sdk in _SDK_NAMES.items() if sdk == service), service)


def read_call(environ: dict[str, Any]) -> Call | None:
    """Return the call that a WSGI request makes, None if it is not signed; the body can still be read afterwards."""
    credential = _CREDENTIAL.search(environ.get("HTTP_AUTHORIZATION", ""))
    if credential is None:
        return None
    call = Call(service=credential.group(2).lower(), operation="")
    if app_id := _APP_ID.search(environ.get("HTTP_USER_AGENT", "")):
        call.caller = app_id.group(1)
    target, path = environ.get("HTTP_X_AMZ_TARGET", ""), environ.get("PATH_INFO", "/")
    if call.service == "sagemaker" and not target:  # its runtime signs with the same name
        call.service = "sagemaker-runtime"
    if target:
        call.operation = target.rpartition(".")[2]
        call.request = _json(_body(environ))
    elif environ.get("HTTP_SMITHY_PROTOCOL") == "rpc-v2-cbor":
        call.protocol, call.operation = _CBOR, path.rpartition("/")[2]
    elif call.service != "sagemaker-runtime" and environ.get("CONTENT_TYPE", "").startswith(_FORM):
        call.protocol = _QUERY
        call.request = dict(parse_qsl(_body(environ).decode(), keep_blank_values=True))
        call.operation = call.request.get("Action", "")
    else:
        call.protocol = _REST
        _rest_call(call, environ)
    return call


def error_response(call: Call, error: ServiceError) -> Response:
    """Return an error as the call's protocol words it."""
    code, message, request_id = error.code, error.message, str(uuid.uuid4())
    if call.protocol in (_JSON, _REST) and call.service != "s3":
        headers = {"x-amzn-ErrorType": code, "x-amzn-RequestId": request_id}
        return json_response({"__type": code, "message": message}, error.status, headers)
    if call.protocol == _CBOR:
        headers = {"smithy-protocol": "rpc-v2-cbor", "Content-Type": "application/cbor", "x-amzn-RequestId": request_id}
        return error.status, headers, _cbor_text_map({"__type": code, "message": message})
    kind = "Sender" if error.status < 500 else "Receiver"
    body = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
    if call.service == "s3":
        xml = f"<Error>{body}<RequestId>{request_id}</RequestId></Error>"
    elif call.service == "ec2":
        xml = f"<Response><Errors><Error>{body}</Error></Errors><RequestID>{request_id}</RequestID></Response>"
    else:
        details = f"<Error><Type>{kind}</Type>{body}</Error><RequestId>{request_id}</RequestId>"
        xml = f"<ErrorResponse>{details}</ErrorResponse>"
    return error.status, {"Content-Type": "text/xml"}, xml.encode()


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a value as a JSON 1.1 answer; a datetime becomes epoch seconds."""
    body = json.dumps(value, default=lambda moment: moment.timestamp()).encode()
    return status, {"Content-Type": "application/x-amz-json-1.1", **(headers or {})}, body


def _body(environ: dict[str, Any]) -> bytes:
    if environ.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked":
        body: bytes = environ["wsgi.input"].read()
        environ["CONTENT_LENGTH"] = str(len(body))
    else:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def _json(body: bytes) -> dict[str, Any]:
    """Return a JSON body; a body that is no JSON object is left to the service to refuse."""
    try:
        value = json.loads(body or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {"": value}


class _RestPath(NamedTuple):
    operation: str
    method: str
    pattern: re.Pattern[str]
    query: frozenset[str]  # keys that must be there
    headers: tuple[str, ...]  # that must be there, as WSGI spells them
    said: tuple[tuple[str, str], ...]  # parameters that headers give, and those headers
    blob: str  # the parameter that is the whole body

    def match(self, environ: dict[str, Any], path: str, query: set[str]) -> re.Match[str] | None:
        if environ["REQUEST_METHOD"] != self.method or not self.query <= query:
            return None
        return self.pattern.fullmatch(path) if all(name in environ for name in self.headers) else None


def _rest_call(call: Call, environ: dict[str, Any]) -> None:
    raw = environ.get("RAW_URI") or environ.get("REQUEST_URI") or environ.get("PATH_INFO", "/")
    path, _, query = raw.partition("?")
    given = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
    for row in _rest_paths(call.service):
        if found := row.match(environ, path, given):
            call.operation = row.operation
            call.request = {label: unquote(value) for label, value in found.groupdict().items()}
            if call.service != "s3":  # an object's bytes are no parameters
                call.request |= {name: environ[header] for name, header in row.said if environ.get(header)}
                call.body = _body(environ)
                body = _json(call.body)
                call.request |= {row.blob: body} if row.blob else body
            return


@functools.cache
def _rest_paths(service: str) -> list[_RestPath]:
    try:
        model = botocore.session.get_session().get_service_model(sdk_name(service))
    except UnknownServiceError:
        return []
    rows = [_rest_path(model.operation_model(name)) for name in model.operation_names]
    # The most particular first: more that must be there, then fewer labels.
    return sorted(rows, key=lambda row: (-len(row.query) - len(row.headers), row.pattern.groups))


def _rest_path(operation: Any) -> _RestPath:
    path, _, query = operation.http["requestUri"].partition("?")
    keys, headers, blob = {key for key, _ in parse_qsl(query, keep_blank_values=True)}, [], ""
    said: list[tuple[str, str]] = []
    if (shape := operation.input_shape) is not None:
        for name in shape.required_members:
            where = shape.members[name].serialization
            if where.get("location") == "querystring":
                keys.add(where["name"])
            elif where.get("location") == "header":
                headers.append(_wsgi(where["name"]))
        located = ((name, member.serialization) for name, member in shape.members.items())
        said = [(name, _wsgi(where["name"])) for name, where in located if where.get("location") == "header"]
        payload = shape.serialization.get("payload", "")
        blob = payload if payload and shape.members[payload].type_name == "blob" else ""
    pattern = re.sub(r"\\{(\w+)(\\\+)?\\}", lambda m: f"(?P<{m[1]}>{'.+' if m[2] else '[^/]+'})", re.escape(path))
    compiled = re.compile(pattern.removesuffix("/") + "/?")
    return _RestPath(
        operation.name, operation.http["method"], compiled, frozenset(keys), tuple(headers), tuple(said), blob
    )


def _wsgi(header: str) -> str:
    name = header.upper().replace("-", "_")
    return name if name == "CONTENT_TYPE" else f"HTTP_{name}"


def _cbor_text_map(value: dict[str, str]) -> bytes:
    def text(word: str) -> bytes:
        data = word.encode()
        return b"\x79" + struct.pack(">H", len(data)) + data

    return bytes([0xA0 + len(value)]) + b"".join(text(key) + text(item) for key, item in value.items())
