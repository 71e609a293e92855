"""The AWS clients of the runtime, built once a process: no call outlives the function that makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import botocore
import botocore.session
from botocore.config import Config

from constructs_lib import facts
from constructs_lib.runtime.errors import ServiceModelError

if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "CALL_LIFE",
    "NEEDED_MODEL",
    "buyer_clients",
    "clients",
    "quotas_client",
    "require_model",
    "require_plan_model",
    "subnets_client",
]

NEEDED_MODEL = "1.44.8"
_CONNECT_SECONDS = 3
_CREATE_SECONDS = 20
_READ_SECONDS = 5
# A create call whose answer we stopped waiting for may still take effect for this long. AWS states no bound; this is
# five times the longest wait of ours.
CALL_LIFE = 5 * (_CONNECT_SECONDS + _CREATE_SECONDS)

_ONCE = Config(
    connect_timeout=_CONNECT_SECONDS,
    read_timeout=_CREATE_SECONDS,
    retries={"total_max_attempts": 1, "mode": "standard"},
)
_USUAL = Config(
    connect_timeout=_CONNECT_SECONDS, read_timeout=_READ_SECONDS, retries={"total_max_attempts": 3, "mode": "standard"}
)


def clients() -> dict[str, Any]:
    """Return new clients: ``create`` makes each call once; ``sagemaker``, ``stepfunctions`` and ``dynamodb`` repeat.

    Whatever they repeat may safely happen twice. A create call may not: a repeat that is refused would hide that the
    first was not.
    """
    return _clients("sagemaker", "stepfunctions", "dynamodb")


def quotas_client() -> Any:
    """Return a new client of Service Quotas."""
    return _client("service-quotas")


def subnets_client() -> Any:
    """Return a new client of EC2."""
    return _client("ec2")


def buyer_clients() -> dict[str, Any]:
    """Return the buyer's clients: ``create`` makes each call once, purchases go through it; others repeat."""
    return _clients("sagemaker", "dynamodb", "cloudformation", "sns", "events")


def _clients(*names: str) -> dict[str, Any]:
    session = botocore.session.get_session()
    once = {"create": session.create_client("sagemaker", config=_ONCE)}
    return once | {name: session.create_client(name, config=_USUAL) for name in names}


def _client(name: str) -> Any:
    return botocore.session.get_session().create_client(name, config=_USUAL)


def require_model(client: Any) -> None:
    """Refuse a SageMaker client whose model is older than the fields we send.

    Raises
    ------
    ServiceModelError
        Naming the model that was found and the one that is needed.
    """
    request = client.meta.service_model.operation_model("CreateTrainingJob").input_shape
    resources = request.members["ResourceConfig"].members
    pending = request.members["StoppingCondition"].members.get("MaxPendingTimeInSeconds")
    least = pending.metadata.get("min") if pending is not None else None
    lacks = []
    if "InstancePreferences" not in resources:
        lacks.append("ResourceConfig.InstancePreferences")
    if least != (wanted := facts.limit("MaxPendingTimeInSeconds").min):
        lacks.append(f"MaxPendingTimeInSeconds from {wanted} seconds (it says {least})")
    if lacks:
        raise _too_old(lacks)


# What is sent or read of each operation, beyond its mere existence.
_PLAN_MEMBERS = {
    "AddTags": (),
    "CreateTrainingPlan": ("TrainingPlanName", "TrainingPlanOfferingId", "Tags"),
    "DescribeTrainingPlan": ("TrainingPlanName",),
    "DescribeTrainingPlanExtensionHistory": ("TrainingPlanArn",),
    "ExtendTrainingPlan": ("TrainingPlanExtensionOfferingId",),
    "ListTags": (),
    "SearchTrainingPlanOfferings": (
        "InstanceType",
        "InstanceCount",
        "DurationHours",
        "TargetResources",
        "TrainingPlanArn",
    ),
}


def require_plan_model(client: Any) -> None:
    """Refuse a SageMaker client whose model is older than what buying a plan takes.

    Raises
    ------
    ServiceModelError
        Naming the model that was found and the one that is needed.
    """
    model = client.meta.service_model
    lacks = []
    for operation, members in _PLAN_MEMBERS.items():
        if operation not in model.operation_names:
            lacks.append(operation)
            continue
        known = model.operation_model(operation).input_shape.members
        lacks += [f"{operation}.{member}" for member in members if member not in known]
    if lacks:
        raise _too_old(lacks)


def _too_old(lacks: list[str]) -> ServiceModelError:
    return ServiceModelError(
        f"the SageMaker model found with botocore {botocore.__version__} lacks {' and '.join(lacks)}; that of "
        f"{NEEDED_MODEL} or later is needed: let AWS_DATA_PATH name the directory 'models' of the function's code"
    )
