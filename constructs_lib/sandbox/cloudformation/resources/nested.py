"""Stacks inside stacks."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from .base import Made, Request, ResourceError, ResourceType, tag_map

__all__ = ["NestedStack"]

_NO_UPDATES = "No updates are to be performed"
_CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]


class NestedStack(ResourceType):
    """A stack of its own that its parent waits for; what it cannot finish it takes back itself."""

    type = "AWS::CloudFormation::Stack"
    attributes = None
    waits = True

    def create(self, request: Request) -> Made:
        """Create the stack and wait for it."""
        name = request.name(128)
        client = request.client("cloudformation")
        stack_id: str = client.create_stack(StackName=name, **_parameters(request))["StackId"]
        request.initiated(stack_id)
        return self._settled(request, stack_id, "CREATE_COMPLETE", "created")

    def update(self, request: Request) -> Made:
        """Update the stack and wait for it; a template of equal content changes nothing."""
        stack_id = request.physical_id
        try:
            request.client("cloudformation").update_stack(StackName=stack_id, **_parameters(request))
        except ClientError as error:
            if _NO_UPDATES not in error.response["Error"]["Message"]:
                raise
            return Made(stack_id, _outputs(_describe(request, stack_id)))
        return self._settled(request, stack_id, "UPDATE_COMPLETE", "updated")

    def delete(self, request: Request) -> None:
        """Delete the stack and wait for it."""
        request.client("cloudformation").delete_stack(StackName=request.physical_id)
        self._settled(request, request.physical_id, "DELETE_COMPLETE", "deleted")

    def _settled(self, request: Request, stack_id: str, wanted: str, verb: str) -> Made:
        request.poll(lambda: not _describe(request, stack_id)["StackStatus"].endswith("_IN_PROGRESS"))
        stack = _describe(request, stack_id)
        if stack["StackStatus"] != wanted:
            reason = stack.get("StackStatusReason", stack["StackStatus"])
            raise ResourceError(f"Embedded stack {stack_id} was not successfully {verb}: {reason}")
        return Made(stack_id, _outputs(stack))


def _parameters(request: Request) -> dict[str, Any]:
    given = request.properties.get("Parameters", {})
    tags = tag_map(request.properties.get("Tags"))
    return {
        "TemplateURL": request.properties["TemplateURL"],
        "Parameters": [{"ParameterKey": key, "ParameterValue": _text(value)} for key, value in given.items()],
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
        "Capabilities": _CAPABILITIES,
    }


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _describe(request: Request, stack_id: str) -> dict[str, Any]:
    stack: dict[str, Any] = request.client("cloudformation").describe_stacks(StackName=stack_id)["Stacks"][0]
    return stack


def _outputs(stack: dict[str, Any]) -> dict[str, str]:
    return {f"Outputs.{output['OutputKey']}": output["OutputValue"] for output in stack.get("Outputs", [])}
