"""The AWS clients of the functions that keep endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import botocore
import botocore.session
from botocore.config import Config

from constructs_lib.runtime.adapters.clients import NEEDED_MODEL
from constructs_lib.runtime.errors import ServiceModelError

if TYPE_CHECKING:
    from typing import Any

__all__ = ["endpoint_clients", "require_endpoint_model"]

_CONNECT_SECONDS = 3
# What changes something is asked once: a repeat by the SDK would hide whether the first took effect.
_ONCE = Config(connect_timeout=_CONNECT_SECONDS, read_timeout=20, retries={"total_max_attempts": 1, "mode": "standard"})
_USUAL = Config(connect_timeout=_CONNECT_SECONDS, read_timeout=5, retries={"total_max_attempts": 3, "mode": "standard"})
_SERVICES = {
    "sagemaker": "sagemaker",
    "dynamodb": "dynamodb",
    "cloudformation": "cloudformation",
    "sns": "sns",
    "scaling": "application-autoscaling",
    "functions": "lambda",
}

# A variant on a plan, or with a list of types, is what an older model does not know.
_VARIANT_MEMBERS = ("CapacityReservationConfig", "InstancePools", "VariantInstanceProvisionTimeoutInSeconds")


def endpoint_clients() -> dict[str, Any]:
    """Return new clients: ``change`` makes each call of SageMaker once, the others repeat."""
    session = botocore.session.get_session()
    found = {name: session.create_client(service, config=_USUAL) for name, service in _SERVICES.items()}
    return found | {"change": session.create_client("sagemaker", config=_ONCE)}


def require_endpoint_model(client: Any) -> None:
    """Refuse a SageMaker client whose model is older than what keeping an endpoint takes.

    Raises
    ------
    ServiceModelError
        Naming the model that was found and the one that is needed.
    """
    model = client.meta.service_model
    variant = model.operation_model("CreateEndpointConfig").input_shape.members["ProductionVariants"].member.members
    lacks = [f"ProductionVariants.{name}" for name in _VARIANT_MEMBERS if name not in variant]
    lacks += [name for name in ("UpdateEndpointWeightsAndCapacities",) if name not in model.operation_names]
    if lacks:
        raise ServiceModelError(
            f"the SageMaker model found with botocore {botocore.__version__} lacks {' and '.join(lacks)}; that of "
            f"{NEEDED_MODEL} or later is needed: let AWS_DATA_PATH name the directory 'models' of the function's code"
        )
