"""AWS::StepFunctions types."""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

from botocore.exceptions import ClientError

from .api import ApiType, absent
from .base import Request, ResourceError, plain

__all__ = ["StateMachine"]

_SUBSTITUTION = re.compile(r"\$\{([A-Za-z0-9_-]+)\}")
_SOURCES = ("DefinitionString", "Definition", "DefinitionS3Location")


class StateMachine(ApiType):
    """A state machine; deleting one waits until its running executions have ended, as AWS does."""

    type = "AWS::StepFunctions::StateMachine"
    attributes = frozenset({"Arn", "Name", "StateMachineRevisionId"})
    waits = True
    service = "stepfunctions"
    answer = ("stateMachineArn",)
    create_call, update_call, delete_call = "CreateStateMachine", "UpdateStateMachine", "DeleteStateMachine"
    name, identifier = "StateMachineName", "stateMachineArn"
    name_limit = 80
    rename: ClassVar = {"StateMachineName": "name", "StateMachineType": "type"}
    defaults: ClassVar = {
        "LoggingConfiguration": {"level": "OFF", "includeExecutionData": False},
        "TracingConfiguration": {"enabled": False},
    }

    def new_name(self, request: Request) -> str:
        """Return a name without the stack's, as this type gives itself."""
        return request.name(self.name_limit, stack=False)

    def parameters(self, request: Request, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the call's parameters with the definition as text."""
        parameters = super().parameters(request, properties)
        given = [parameters.pop(source) for source in _SOURCES if source in parameters]
        substitutions = parameters.pop("DefinitionSubstitutions", {})
        if len(given) != 1:
            raise ResourceError(f"a state machine needs exactly one of {', '.join(_SOURCES)}")
        text = _from_s3(request, given[0]) if "DefinitionS3Location" in properties else plain(given[0])
        parameters["definition"] = _SUBSTITUTION.sub(
            lambda match: _text(substitutions[match[1]]) if match[1] in substitutions else match[0], text
        )
        return parameters

    def change(self, request: Request, changed: list[str]) -> None:
        """Update in place; however the definition is given it is one member of the call."""
        sources = {*_SOURCES, "DefinitionSubstitutions"}
        super().change(request, [key if key not in sources else "definition" for key in changed])

    def read(self, request: Request) -> dict[str, Any]:
        """Return ARN, name and revision."""
        machine = request.client("stepfunctions").describe_state_machine(stateMachineArn=request.physical_id)
        # A machine that was never updated has no revision of its own.
        revision = machine.get("revisionId", "INITIAL")
        return {"Arn": request.physical_id, "Name": machine["name"], "StateMachineRevisionId": revision}

    def settle_deleted(self, request: Request) -> None:
        """Wait while the machine is DELETING."""
        client = request.client("stepfunctions")

        def gone() -> bool:
            try:
                client.describe_state_machine(stateMachineArn=request.physical_id)
            except ClientError as error:
                if absent(error):
                    return True
                raise
            return False

        request.poll(gone)


def _from_s3(request: Request, location: dict[str, Any]) -> str:
    version = {"VersionId": location["Version"]} if "Version" in location else {}
    answer = request.client("s3").get_object(Bucket=location["Bucket"], Key=location["Key"], **version)
    return str(answer["Body"].read().decode())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
