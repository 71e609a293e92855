"""SageMaker Runtime: requests to endpoints over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.modelcheck import check, operation_model

if TYPE_CHECKING:
    from constructs_lib.sandbox.protocol import Call, Response

    from .endpoints import Endpoints

__all__ = ["Runtime"]

_SERVICE = "sagemaker-runtime"


class Runtime:
    """Answers InvokeEndpoint; a model echoes the body, its type and the custom attributes.

    Parameters
    ----------
    endpoints
        Whom requests are for.
    """

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints

    def handle(self, call: Call) -> Response:
        """Answer one call.

        Raises
        ------
        ServiceError
            If nothing answers, or the sandbox does not play the operation.
        """
        operation_model(_SERVICE, call.operation)
        if call.operation != "InvokeEndpoint":
            words = f"the sandbox has no SageMaker Runtime operation {call.operation}; it has InvokeEndpoint"
            raise ServiceError("UnknownOperationException", words)
        request = call.request | {"Body": call.body}
        check(_SERVICE, call.operation, request)
        body, variant = self._endpoints.invoke(request["EndpointName"], call.body, request.get("TargetVariant"))
        headers = {
            "Content-Type": request.get("ContentType", "application/json"),
            "x-Amzn-Invoked-Production-Variant": variant,
            "X-Amzn-SageMaker-Custom-Attributes": request.get("CustomAttributes"),
        }
        return 200, {name: value for name, value in headers.items() if value is not None}, body
