"""A CloudFormation over moto alone, with Lambda functions that are plain Python functions of the test."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from moto.core.base_backend import BackendDict
from moto.core.config import default_user_config
from moto.core.model_instances import reset_model_data
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from constructs_lib.sandbox.clock import Clock
from constructs_lib.sandbox.cloudformation import RESPONSE_PREFIX, CloudFormation
from constructs_lib.sandbox.context import ACCOUNT, Context
from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.faults import Faults
from constructs_lib.sandbox.protocol import error_response, read_call

SPEED = 600.0
Template = dict[str, Any]


class Cloud:
    """One server: our CloudFormation, the test's functions, moto for the rest."""

    def __init__(self, stubs: tuple[str, ...] = ()) -> None:
        self.functions: dict[str, Callable[[dict[str, Any]], None]] = {}
        self.delivered: list[dict[str, Any]] = []
        self.emitted: list[tuple[str, str, dict[str, Any]]] = []
        self.calls: list[tuple[str, str]] = []
        self.faults = Faults()
        self.clock = Clock(SPEED)
        self._clients: dict[str, Any] = {}
        default_user_config["iam"]["load_aws_managed_policies"] = True
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._app, threaded=True, request_handler=_Quiet)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.context = Context(clock=self.clock, faults=self.faults, emit=self._emit, client=self.client, url=self.url)
        self.engine = CloudFormation(self.context, stubs)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.engine.close()
        self.clock.close()
        self._server.shutdown()
        self._server.server_close()
        default_user_config["iam"]["load_aws_managed_policies"] = False
        BackendDict.reset()
        reset_model_data()

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = botocore.session.Session().create_client(
                service,
                region_name="us-east-1",
                endpoint_url=self.url,
                aws_access_key_id="x",
                aws_secret_access_key="x",
                config=Config(retries={"total_max_attempts": 1}, max_pool_connections=50),
            )
        return self._clients[service]

    def _emit(self, source: str, detail_type: str, detail: dict[str, Any], _resources: list[str]) -> None:
        self.emitted.append((source, detail_type, detail))

    def _app(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ["PATH_INFO"].startswith(RESPONSE_PREFIX):
            return self.engine.responses.app(environ, start_response)
        call = read_call(environ)
        if call is None:
            return self._moto(environ, start_response)
        self.calls.append((call.service, call.operation))
        if (fault := self.faults.take(call.service, call.operation, "before", call.request)) is not None:
            return _answer(error_response(call, ServiceError(*fault.error)), start_response)
        if call.service == "cloudformation":
            try:
                body = self.engine.handle(call.operation, call.request)
            except ServiceError as error:
                return _answer(error_response(call, error), start_response)
            return _answer((200, {"Content-Type": "text/xml"}, body), start_response)
        if call.service == "lambda" and call.operation == "Invoke" and "HTTP_X_AMZ_INVOCATION_TYPE" in environ:
            return self._invoke(environ, start_response)
        return self._moto(environ, start_response)

    def _invoke(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        name = re.search(r"(?:function%3A|function:)?([A-Za-z0-9-]+)/invocations", environ["PATH_INFO"])[1]
        event = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        if name not in self.functions:
            body = json.dumps({"message": f"Function not found: {name}"}).encode()
            return _answer((404, {"x-amzn-ErrorType": "ResourceNotFoundException"}, body), start_response)
        self.delivered.append(event)
        threading.Thread(target=self.functions[name], args=(event,), daemon=True).start()
        return _answer((202, {}, b""), start_response)

    # -- what tests do ------------------------------------------------------------------------------------------

    def function(self, name: str, handler: Callable[[dict[str, Any]], dict[str, Any] | None]) -> str:
        """Register a function and return its ARN; what the handler returns is sent, None sends nothing."""

        def run(event: dict[str, Any]) -> None:
            try:
                answer = handler(event)
            except RuntimeError:  # a function that raises has not answered
                return
            if answer is not None:
                respond(event, **answer)

        self.functions[name] = run
        return f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:{name}"

    def create(self, name: str, template: Template, **options: Any) -> str:
        self.cfn.create_stack(StackName=name, TemplateBody=json.dumps(template), Capabilities=IAM, **options)
        return self.settled(name)

    def update(self, name: str, template: Template, **options: Any) -> str:
        self.cfn.update_stack(StackName=name, TemplateBody=json.dumps(template), Capabilities=IAM, **options)
        return self.settled(name)

    def delete(self, name: str, **options: Any) -> str:
        identifier = self.describe(name)["StackId"]
        self.cfn.delete_stack(StackName=name, **options)
        return self.engine.wait(identifier)

    def settled(self, name: str) -> str:
        return self.engine.wait(name)

    @property
    def cfn(self) -> Any:
        return self.client("cloudformation")

    def describe(self, name: str) -> dict[str, Any]:
        return self.cfn.describe_stacks(StackName=name)["Stacks"][0]

    def outputs(self, name: str) -> dict[str, str]:
        return {o["OutputKey"]: o["OutputValue"] for o in self.describe(name).get("Outputs", [])}

    def physical(self, name: str) -> dict[str, str]:
        resources = self.cfn.describe_stack_resources(StackName=name)["StackResources"]
        return {r["LogicalResourceId"]: r.get("PhysicalResourceId", "") for r in resources}

    def events(self, name: str) -> list[dict[str, Any]]:
        """Events, oldest first."""
        return self.cfn.describe_stack_events(StackName=name)["StackEvents"][::-1]

    def history(self, name: str, logical_id: str | None = None) -> list[str]:
        """Statuses of the newest operation, oldest first: of one resource, or of the stack."""
        events = self.events(name)
        newest = events[-1]["OperationId"]
        about = logical_id or events[0]["StackName"]
        return [e["ResourceStatus"] for e in events if e["OperationId"] == newest and e["LogicalResourceId"] == about]

    def why(self, name: str, logical_id: str) -> str:
        """Reason of the newest failure of a resource."""
        failed = [
            e for e in self.events(name) if e["LogicalResourceId"] == logical_id and "FAILED" in e["ResourceStatus"]
        ]
        return failed[-1]["ResourceStatusReason"]

    def reasons(self, name: str, logical_id: str) -> list[str]:
        return [e.get("ResourceStatusReason", "") for e in self.events(name) if e["LogicalResourceId"] == logical_id]


class _Quiet(WSGIRequestHandler):
    def log_request(self, *_: object) -> None:
        pass


IAM = ["CAPABILITY_NAMED_IAM"]


def _answer(response: tuple[int, dict[str, str], bytes], start_response: Callable[..., Any]) -> list[bytes]:
    status, headers, body = response
    start_response(f"{status} X", [*headers.items(), ("Content-Length", str(len(body)))])
    return [body]


def respond(event: dict[str, Any], **answer: Any) -> None:
    """Answer a custom resource's event as a function does."""
    body = {key: event[key] for key in ("StackId", "RequestId", "LogicalResourceId")}
    body["PhysicalResourceId"] = event.get("PhysicalResourceId", f"id-of-{event['LogicalResourceId']}")
    body |= {"Status": "SUCCESS"} | answer
    put(event["ResponseURL"], json.dumps({k: v for k, v in body.items() if v is not None}).encode())


def put(url: str, body: bytes) -> None:
    urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": ""}, method="PUT")).close()


@pytest.fixture(scope="module")
def module_cloud() -> Iterator[Cloud]:
    cloud = Cloud()
    yield cloud
    cloud.close()


@pytest.fixture
def cloud(module_cloud: Cloud) -> Iterator[Cloud]:
    """The module's cloud with nothing delivered, emitted or planned."""
    for log in (module_cloud.delivered, module_cloud.emitted, module_cloud.calls):
        log.clear()
    yield module_cloud
    module_cloud.faults.clear()


@pytest.fixture(scope="session")
def send() -> Callable[..., None]:
    """Answer a custom resource's event."""
    return respond


@pytest.fixture(scope="session")
def put_raw() -> Callable[[str, bytes], None]:
    """Put bytes to a ResponseURL."""
    return put


@pytest.fixture(scope="session")
def make_cloud() -> Callable[..., Cloud]:
    """Make a cloud of one's own."""
    return Cloud
