"""moto's Step Functions engine, patched: the one place where names of its internals are known.

What is put right: virtual time everywhere; JSONata and variables; error names and what Retry and Catch match; SDK
integrations checked against the service's model; SageMaker's optimised integrations; task tokens that die; stops, time
limits and deletion that take effect at once; status events; redrive; Map and Parallel that end what a failure leaves.

A redrive goes on with the states that did not succeed, at any depth of Parallel and inline Map, with their inputs and
variables as they were, under the same ARN. It is refused with words (ExecutionNotRedrivable) for an execution that
ended inside a Distributed Map.

What the engine still cannot do:

- ItemBatcher (the grammar has no such word); ResultWriter writes a manifest that lists no result files.
- Activities, StartSyncExecution and Express executions as AWS runs them, TestState, ValidateStateMachineDefinition,
  aliases as the target of StartExecution, ``http:invoke``, state machines of another account or region.
- Logs of executions: a LoggingConfiguration is kept, nothing is written to the log group.
- ``.sync`` of Glue, Batch and ECS does not stop the job; results of optimised integrations lack SdkHttpMetadata.
- Permissions: no role is assumed, so nothing fails for want of one. Quotas: 25,000 events, concurrency, request rates.
- A Distributed Map starts no more than 1,000 items at once, and UpdateMapRun does not change its concurrency.

Where AWS's behaviour is unknown a switch chooses (`Faults.switch`): the rows ``states.*`` of ``facts/unknowns.json``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.core.config import default_user_config

from . import api, engine, expressions, failures, jobs, machines, maps, patching, programs, shapes, tasks, waiting
from .tokens import Tokens

if TYPE_CHECKING:
    from constructs_lib.sandbox.context import Context

__all__ = ["close", "install"]

# Importing these modules declares their patches.
_PARTS = (api, expressions, failures, jobs, machines, maps, programs, shapes, tasks, waiting)


def install(context: Context) -> None:
    """Make moto's engine run the state machines of one sandbox.

    A second call moves the engine to another sandbox and abandons what still runs for the first.

    Parameters
    ----------
    context
        The sandbox's surroundings; its `url` is where Task states send their calls.

    Raises
    ------
    SandboxError
        If the installed moto is not the version, or has not the names, that the patches were written for.
    """
    patching.check()
    close()
    patching.apply()
    default_user_config["stepfunctions"]["execute_state_machine"] = True
    engine.use(engine.Engine(context=context, tokens=Tokens()))


def close() -> None:
    """Abandon every running execution; call it when the sandbox ends."""
    before = engine.use(None)
    if before is not None:
        for execution in list(before.running.values()):
            execution.abandon()
