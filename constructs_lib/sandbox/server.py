"""The sandbox as a whole: starts its parts on one port, stops them without a trace."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import botocore.session
from botocore.config import Config
from moto import backends
from moto.core import responses
from moto.core.base_backend import BackendDict
from moto.core.config import default_user_config
from moto.core.model_instances import reset_model_data
from moto.moto_server.werkzeug_app import MotoRequestHandler
from moto.s3.models import s3_backends
from moto.ssm.models import ssm_backends
from werkzeug.serving import make_server

from . import moto_time, states
from .alarms import Alarms
from .autoscaling import variant_targets
from .clock import Clock
from .cloudformation import RESPONSE_PREFIX, CloudFormation
from .context import ACCOUNT, Context
from .errors import SandboxError
from .events import Events, Targets
from .faults import Faults
from .front import Front
from .lambdas import Lambdas
from .patches import Patches
from .price_list import PriceList
from .protocol import json_response
from .sagemaker import CONTROL_PREFIX, Capacity, Control, Runtime, SageMaker
from .service_quotas import ServiceQuotas
from .tasks import Tasks
from .throttling import throttle

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterable, Iterator

    from .alarms import Notice
    from .faults import Fault
    from .front import Request
    from .protocol import Call, Response

__all__ = ["Sandbox"]

LOG = logging.getLogger(__name__)
_PATIENCE = 5.0  # real seconds that what still runs gets to end
_BOOTSTRAP = "30"  # the version of the CDK's bootstrap stack that the CLI finds
_one_at_a_time = threading.Lock()  # moto's stores are global to the process


class Sandbox:
    """An AWS of one account on one port of 127.0.0.1.

    Permissions are not checked, nothing is kept after `stop`, and only one sandbox runs in a process at a time.

    Parameters
    ----------
    port
        0 takes a free one.
    speed
        Virtual seconds per real second.
    capacity
        What instances, offerings and quotas there are: a file or a `Capacity`; the default one when left out.
    stubs
        CloudFormation resource types to pretend to create.
    region
        The region of everything.

    Examples
    --------
    ::

        with Sandbox(speed=600) as sandbox:
            sandbox.client("sagemaker").list_training_jobs()
    """

    clock: Clock
    faults: Faults
    context: Context
    sagemaker: SageMaker
    cloudformation: CloudFormation
    lambdas: Lambdas
    url: str

    def __init__(
        self,
        port: int = 0,
        speed: float = 60.0,
        capacity: Path | Capacity | None = None,
        stubs: Iterable[str] = (),
        region: str = "us-east-1",
    ) -> None:
        self._port = port
        self._capacity = Capacity.load(capacity) if isinstance(capacity, Path | str) else capacity or Capacity()
        self._stubs = tuple(stubs)
        self.clock = Clock(speed)
        self.faults = Faults()
        self.region = region
        self._tasks = Tasks()
        self._clients: dict[str, Any] = {}
        self._clients_lock = threading.Lock()
        self._started = False
        self._stopped = threading.Event()
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Self:
        """Listen and return once requests are answered.

        Raises
        ------
        SandboxError
            If the port is in use, another sandbox runs in this process, or this one was started before.
        """
        if self._started:
            raise SandboxError("a sandbox starts once: make a new one")
        if not _one_at_a_time.acquire(blocking=False):
            raise SandboxError("another sandbox runs in this process: stop it first, moto's state is shared")
        with contextlib.ExitStack() as undo:
            undo.callback(_one_at_a_time.release)
            listener = undo.enter_context(_listen(self._port))
            self._build(listener, undo)
            self._undo = undo.pop_all()
        self._started = True
        return self

    def stop(self) -> None:
        """Stop answering, end every thread and process and forget all state."""
        self._undo.pop_all().close()
        self._stopped.set()

    def wait(self) -> None:
        """Wait until the sandbox is stopped, by `stop` or by Ctrl-C."""
        try:
            self._stopped.wait()
        except KeyboardInterrupt:
            self.stop()

    def client(self, service: str) -> Any:
        """Return a botocore client of this sandbox, without retries."""
        with self._clients_lock:  # making clients is not thread-safe, using them is
            if service not in self._clients:
                self._clients[service] = botocore.session.Session().create_client(
                    service,
                    region_name=self.region,
                    endpoint_url=self.url,
                    aws_access_key_id="sandbox",
                    aws_secret_access_key="sandbox",  # noqa: S106 - not a secret
                    config=Config(
                        retries={"total_max_attempts": 1},
                        connect_timeout=5,
                        read_timeout=1000,
                        max_pool_connections=50,
                        proxies={},
                    ),
                )
            return self._clients[service]

    def throttle(
        self, service: str, operation: str, *, seconds: float | None = None, rate: float | None = None, burst: int = 1
    ) -> Fault:
        """Refuse an operation with ``ThrottlingException`` for virtual `seconds`, or beyond a `rate` a second.

        Both may be given; with neither it is refused until ``faults.clear()``.

        Parameters
        ----------
        service, operation
            Such as ``sagemaker`` and ``CreateTrainingJob``.
        seconds
            How long from now on, in virtual seconds; without end if left out.
        rate, burst
            Requests a virtual second that pass, none if left out, and how many pass at once after a pause.

        Raises
        ------
        SandboxError
            If nothing would ever be throttled, or the operation does not exist.
        """
        return throttle(self.faults, self.clock, service, operation, seconds=seconds, rate=rate, burst=burst)

    def environment(self) -> dict[str, str]:
        """Return what a shell exports so that SDKs, the AWS CLI and the CDK CLI talk to this sandbox."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "sandbox",
            "AWS_SECRET_ACCESS_KEY": "sandbox",
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    @property
    def requests(self) -> deque[Request]:
        """The latest API calls, the oldest first."""
        return self._front.requests

    @property
    def notices(self) -> deque[Notice]:
        """What topics were given, the oldest first."""
        return self._alarms.notices

    def _build(self, listener: socket.socket, undo: contextlib.ExitStack) -> None:
        """Make all parts; what is made first is undone last."""
        port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        undo.enter_context(_exported("MOTO_PORT", str(port)))  # moto calls back to it
        undo.callback(_forget)
        moto_time.use(self.clock)
        default_user_config["iam"]["load_aws_managed_policies"] = True  # roles attach them
        patches = Patches()
        undo.callback(patches.undo)
        _look_up_once(patches)
        undo.callback(self._wait_for_threads)
        undo.callback(self.clock.close)

        def emit(*event: Any) -> None:
            events.emit(*event)  # it is made from the context that it becomes a part of

        self.context = Context(self.clock, self.faults, emit, self.client, region=self.region, url=self.url)
        targets = Targets(self.context, self._tasks)
        events = Events(self.context, self._tasks, targets)
        events.install(patches)
        self._alarms = Alarms(self.context, self._tasks)
        self._alarms.install(patches)
        self.lambdas = Lambdas(self.context, self._tasks, targets.send)
        undo.callback(self.lambdas.close)
        self.lambdas.install(patches)
        targets.settled = self.lambdas.settled
        self.sagemaker = SageMaker(self.context, self._capacity)
        self.cloudformation = CloudFormation(self.context, self._stubs)
        undo.callback(self.cloudformation.close)
        states.install(self.context)
        undo.callback(states.close)
        undo.callback(self._tasks.stopping.set)
        self._front = Front(self.context, self.lambdas)
        self._quotas = ServiceQuotas(self.context, self._capacity.quotas)
        self._prices = PriceList(self.context, self._capacity.prices)
        self._front.services |= {
            "sagemaker": self._ask_sagemaker,
            "sagemaker-runtime": Runtime(self.sagemaker.endpoints).handle,
            "servicequotas": self._ask_quotas,
            "pricing": self._ask_prices,
            "cloudformation": self._ask_cloudformation,
        }
        self._front.mounted[RESPONSE_PREFIX] = self.cloudformation.responses.app
        self._front.mounted[CONTROL_PREFIX] = Control(self.sagemaker).app
        self.sagemaker.scaling.follow(lambda: variant_targets(self.context))
        self._front.after |= {
            "events": events.refresh,
            "scheduler": events.refresh,
            "application-autoscaling": self.sagemaker.scaling.refresh,
        }
        self._seed()
        self._serve(listener, undo)

    def _ask_sagemaker(self, call: Call) -> Response:
        return json_response(self.sagemaker.handle(call.operation, call.request))

    def _ask_quotas(self, call: Call) -> Response:
        return json_response(self._quotas.handle(call.operation, call.request))

    def _ask_prices(self, call: Call) -> Response:
        return json_response(self._prices.handle(call.operation, call.request))

    def _ask_cloudformation(self, call: Call) -> Response:
        return 200, {"Content-Type": "text/xml"}, self.cloudformation.handle(call.operation, call.request)

    def _seed(self) -> None:
        """Make what ``cdk bootstrap`` would have made, as far as ``cdk deploy`` asks for it."""
        s3_backends[ACCOUNT]["aws"].create_bucket(f"cdk-hnb659fds-assets-{ACCOUNT}-{self.region}", self.region)
        ssm_backends[ACCOUNT][self.region].put_parameter(
            name="/cdk-bootstrap/hnb659fds/version",
            description="",
            value=_BOOTSTRAP,
            parameter_type="String",
            allowed_pattern="",
            keyid=None,
            overwrite=True,
            tags=[],
            data_type="text",
            tier=None,
            policies=None,
        )

    def _serve(self, listener: socket.socket, undo: contextlib.ExitStack) -> None:
        host, port = listener.getsockname()
        server = make_server(host, port, self._front, threaded=True, request_handler=_Quiet, fd=listener.fileno())
        listener.close()  # the server has its own copy
        undo.callback(server.server_close)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="sandbox-server")
        thread.daemon = True
        thread.start()
        undo.callback(thread.join)
        undo.callback(server.shutdown)

    def _wait_for_threads(self) -> None:
        left = self._tasks.close(_PATIENCE)
        deadline = time.monotonic() + _PATIENCE
        for thread in self._front.threads():
            thread.join(max(0.0, deadline - time.monotonic()))
            left += [thread.name] if thread.is_alive() else []
        if left:
            LOG.warning("still running after the sandbox stopped: %s", ", ".join(left))


def _look_up_once(patches: Patches) -> None:
    """Remember what moto looks up anew for every request: the folders of its services, and their operations."""
    services = frozenset(backends.list_of_moto_modules())
    patches.set(backends, "list_of_moto_modules", lambda: services)
    patches.wrap(responses, "method_names_from_class", functools.cache)


class _Quiet(MotoRequestHandler):  # type: ignore[misc]  # moto is untyped
    disable_nagle_algorithm = True

    def log_request(self, *_: object) -> None:
        """Keep the terminal for what the person running the sandbox asked for."""


@contextlib.contextmanager
def _exported(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    yield
    if before is None:
        del os.environ[name]
    else:
        os.environ[name] = before


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        raise SandboxError(f"cannot listen on 127.0.0.1:{port} ({error}): name a free port, or 0 for any") from None
    return listener


def _forget() -> None:
    """Empty moto's stores, so that the next sandbox of this process begins with nothing."""
    for account in s3_backends.values():
        account.reset()  # closes the objects' files
    # BackendDict.reset would first fill each store anew, a third of a second for IAM's managed policies alone.
    for store in BackendDict._instances:  # noqa: SLF001
        store.clear()
    BackendDict._instances.clear()  # noqa: SLF001
    reset_model_data()
    moto_time.use(None)
