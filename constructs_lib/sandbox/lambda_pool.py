"""Long-lived processes that run Lambda functions' own code, several of one function at once."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import json
import mmap
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from .errors import SandboxError
from .lambda_worker import LINE, SEQUENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .clock import Clock, Hold, Line

__all__ = ["Function", "Pool", "ThrottledError", "TimedOutError", "Worker", "WorkerExitError"]

_RUNTIME_PACKAGES = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "six", "urllib3")
_KILLED = "signal: killed"
_MOST_AT_ONCE = 10  # workers of one function
_MOST_IDLE = 12  # workers of all functions
_LONGEST_INIT = 60.0  # real seconds; a function's time limit counts from its first line on


class ThrottledError(Exception):
    """All of a function's reserved concurrency is in use."""


class TimedOutError(Exception):
    """A function ran into its time limit."""


class WorkerExitError(Exception):
    """A worker ended before it answered."""


@dataclass(frozen=True)
class Function:
    """What decides whether a warm worker may serve an invocation."""

    name: str
    arn: str
    version: str
    handler: str
    code_sha: str
    memory: int
    log_group: str
    region: str
    environment: tuple[tuple[str, str], ...]


class Worker:
    """One process of one function.

    Parameters
    ----------
    function
        Whose code it runs.
    variables
        Its environment.
    arguments
        Where the runtime's packages and the clock are.
    log
        The path of a file that receives everything the function writes.
    """

    def __init__(self, function: Function, variables: dict[str, str], arguments: list[str], log: Path) -> None:
        self.function = function
        self.id = variables["AWS_SDK_UA_APP_ID"]
        self.log_stream = variables["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.hold: Hold | None = None
        self.warm = False
        script = str(Path(__file__).with_name("lambda_worker.py"))
        with log.open("ab") as sink:
            self._log = log.open("rb")
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and script
                [sys.executable, "-I", "-S", "-B", script, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                env=variables,
                cwd=variables["LAMBDA_TASK_ROOT"],
                start_new_session=True,  # a Ctrl-C at the terminal is for the sandbox, which then ends its workers
            )
        log.unlink()

    def init(self) -> dict[str, Any] | None:
        """Wait until the function's module is loaded; return its error if that failed."""
        deadline = time.monotonic() + _LONGEST_INIT
        while not self._readable(0.05):
            if time.monotonic() > deadline:
                self.kill()
                raise WorkerExitError(f"no module loaded within {_LONGEST_INIT:.0f} s")
        reply = self._read()
        self.warm = "ready" in reply
        return reply.get("init_error")

    def invoke(self, message: dict[str, Any], clock: Clock, timeout: float) -> dict[str, Any]:
        """Run the handler once.

        Raises
        ------
        TimedOutError
            After `timeout` seconds: real ones while the handler works, virtual ones while it sleeps.
        WorkerExitError
            If the process ended.
        """
        deadline = clock.elapsed() + timeout
        line = json.dumps({**message, "deadline": deadline}) + "\n"
        with contextlib.suppress(BrokenPipeError):  # the read below says how it ended
            self._stdin.write(line.encode())
            self._stdin.flush()
        while (left := deadline - clock.elapsed()) > 0:
            if self._readable(max(0.002, min(left / max(clock.speed, 1.0), 0.05))):
                return self._read()
        self.kill()
        raise TimedOutError

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def crash(self) -> NoReturn:
        """End the process as a fault asks for."""
        self._process.kill()
        self._process.wait()
        raise WorkerExitError(_KILLED)

    def close(self) -> None:
        """End the process and wait for it."""
        self._process.kill()
        self._process.wait()
        for stream in (self._stdin, self._stdout, self._log):
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def read_log(self) -> str:
        """Return what the function wrote since the last call."""
        return self._log.read().decode(errors="replace")

    @property
    def _stdin(self) -> IO[bytes]:
        return self._process.stdin  # type: ignore[return-value]

    @property
    def _stdout(self) -> IO[bytes]:
        return self._process.stdout  # type: ignore[return-value]

    def _readable(self, seconds: float) -> bool:
        return bool(select.select([self._stdout], [], [], seconds)[0])

    def _read(self) -> dict[str, Any]:
        line = self._stdout.readline()
        if not line.endswith(b"\n"):
            status = self._process.wait()
            raise WorkerExitError(_KILLED if status == -signal.SIGKILL else f"exit status {status}")
        reply: dict[str, Any] = json.loads(line)
        return reply


class Pool:
    """The workers of all functions.

    Parameters
    ----------
    clock
        Virtual time, which workers read from memory they share with it.
    url
        The sandbox's address, their ``AWS_ENDPOINT_URL``.
    """

    def __init__(self, clock: Clock, url: str) -> None:
        self._clock = clock
        self._url = url
        self._idle: list[Worker] = []  # the longest idle first
        self._busy: dict[str, Worker] = {}
        self._running: Counter[str] = Counter()  # by function ARN
        self._changed = threading.Condition()
        self._closed = False
        self._directory = Path(tempfile.mkdtemp(prefix="sandbox-lambda-"))
        self._runtime = _link_runtime(self._directory / "runtime")
        self._clock_file = self._directory / "clock"
        _share(clock, self._clock_file)

    @contextlib.contextmanager
    def admitted(self, function: Function, reserved: int | None) -> Iterator[None]:
        """Count an invocation as running.

        Raises
        ------
        ThrottledError
            If `reserved` invocations run already. Above the sandbox's own limit it waits for its turn instead.
        """
        arn = function.arn
        with self._changed:
            if reserved is not None and self._running[arn] >= reserved:
                raise ThrottledError
            self._changed.wait_for(lambda: self._closed or self._running[arn] < _MOST_AT_ONCE)
            self._running[arn] += 1
        try:
            yield
        finally:
            with self._changed:
                self._running[arn] -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def worker(self, function: Function, code: bytes, hold: Hold) -> Iterator[Worker]:
        """Lend a worker to an invocation that holds the clock, a warm one if there is one."""
        worker = self._take(function) or self._start(function, code)
        worker.hold = hold
        try:
            yield worker
        finally:
            self._give_back(worker)

    def busy(self, worker_id: str) -> Worker | None:
        """Return a worker that runs an invocation now."""
        with self._changed:
            return self._busy.get(worker_id)

    def close(self) -> None:
        """End all workers."""
        with self._changed:
            self._closed = True
            workers = [*self._idle, *self._busy.values()]
            self._idle.clear()
            self._changed.notify_all()
        for worker in workers:
            worker.kill()
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, timeout=5)
        for worker in workers:
            worker.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _take(self, function: Function) -> Worker | None:
        with self._changed:
            stale = [w for w in self._idle if w.function.arn == function.arn and w.function != function]
            warm = next((w for w in reversed(self._idle) if w.function == function), None)
            self._idle = [w for w in self._idle if w is not warm and w not in stale]
            if warm is not None:
                self._busy[warm.id] = warm
        for worker in stale:
            worker.close()
        return warm

    def _start(self, function: Function, code: bytes) -> Worker:
        with self._changed:  # two first invocations must not unpack at once
            if self._closed:
                raise WorkerExitError("the sandbox stopped")
            root = self._unpack(function, code)
            variables = self._variables(function, root)
            arguments = [str(self._runtime), str(self._clock_file)]
            log = self._directory / f"{variables['AWS_SDK_UA_APP_ID']}.log"
            worker = Worker(function, variables, arguments, log)
            self._busy[worker.id] = worker
        return worker

    def _give_back(self, worker: Worker) -> None:
        with self._changed:
            del self._busy[worker.id]
            worker.hold = None
            dropped = []
            if worker.warm and not self._closed:
                self._idle.append(worker)
                while len(self._idle) > _MOST_IDLE:
                    dropped.append(self._idle.pop(0))
            else:
                dropped.append(worker)
            self._changed.notify_all()
        for old in dropped:
            old.close()

    def _unpack(self, function: Function, code: bytes) -> Path:
        root = self._directory / hashlib.sha256(code).hexdigest()[:16]
        if not root.is_dir():
            fresh = root.with_suffix(".new")
            try:
                zipfile.ZipFile(io.BytesIO(code)).extractall(fresh)
            except zipfile.BadZipFile as error:
                raise SandboxError(f"the code of Lambda function {function.name!r} is no zip file: {error}") from error
            fresh.rename(root)
        return root

    def _variables(self, function: Function, root: Path) -> dict[str, str]:
        day = self._clock.iso()[:10].replace("-", "/")
        name, home = f"sandbox-{uuid.uuid4().hex[:12]}", self._directory / "tmp"
        home.mkdir(exist_ok=True)
        # /var/task, where Lambda unpacks the code, exists only there.
        own = {key: value.replace("/var/task", str(root)) for key, value in function.environment}
        return own | {
            "PATH": os.defpath,
            "LANG": "en_US.UTF-8",
            "PYTHONUTF8": "1",
            "TZ": ":UTC",
            "HOME": str(home),
            "TMPDIR": str(home),
            "LAMBDA_TASK_ROOT": str(root),
            "LAMBDA_RUNTIME_DIR": str(self._runtime),
            "_HANDLER": function.handler,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_python{sys.version_info[0]}.{sys.version_info[1]}",
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": function.version,
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
            "AWS_LAMBDA_LOG_GROUP_NAME": function.log_group,
            "AWS_LAMBDA_LOG_STREAM_NAME": f"{day}/[{function.version}]{uuid.uuid4().hex}",
            "AWS_REGION": function.region,
            "AWS_DEFAULT_REGION": function.region,
            "AWS_ACCESS_KEY_ID": "sandbox",
            "AWS_SECRET_ACCESS_KEY": "sandbox",
            "AWS_SESSION_TOKEN": "sandbox",
            "AWS_ENDPOINT_URL": self._url,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_SDK_UA_APP_ID": name,  # how the server knows which worker a request comes from
        }


def _link_runtime(directory: Path) -> Path:
    """Make a directory with the packages that Lambda's Python runtime brings, and nothing else."""
    directory.mkdir()
    for name in _RUNTIME_PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise SandboxError(f"Python package {name!r}, which every Lambda function finds, is not installed")
        origin = Path(spec.origin)
        source = origin.parent if spec.submodule_search_locations else origin
        (directory / source.name).symlink_to(source)
    return directory


def _share(clock: Clock, path: Path) -> None:
    """Keep the clock's line in a file that workers map into their memory."""
    path.write_bytes(bytes(SEQUENCE.size + LINE.size))
    with path.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    sequence = 0

    def write(line: Line) -> None:
        nonlocal sequence
        for step in (1, 2):
            SEQUENCE.pack_into(memory, 0, sequence + step)
            if step == 1:
                LINE.pack_into(memory, SEQUENCE.size, *line)
        sequence += 2

    clock.watch(write)
