"""Endpoints, their configurations and the plans they are on: what is seen, and the one call that changes something."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.model.endpoints_rules import OWNER_TAG
from constructs_lib.model.endpoints_view import EndpointSight, VariantSight
from constructs_lib.model.endpoints_window import GONE, UNREADABLE, PlanSight
from constructs_lib.runtime.adapters.outcomes import outcome_of, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from constructs_lib.model.endpoints_rules import Action
    from constructs_lib.runtime.endpoint_ports import EndpointsClient, ScalingClient

__all__ = ["DONE", "REFUSED", "THROTTLED", "UNCLEAR", "Endpoints", "Result"]

DONE, REFUSED, THROTTLED, UNCLEAR = "done", "refused", "throttled", "unclear"

_ABSENT = re.compile(
    r"ResourceNotFound|ObjectNotFound|ValidationException: .*(could not find|not found|not exist)", re.IGNORECASE
)
_EXISTS = re.compile(r"already exist", re.IGNORECASE)
_IN_PROGRESS = re.compile(r"in-progress", re.IGNORECASE)
_SCALING = {"ServiceNamespace": "sagemaker", "ScalableDimension": "sagemaker:variant:DesiredInstanceCount"}


@dataclass(frozen=True, slots=True)
class Result:
    """What a call came to, and AWS's words: `REFUSED` and `THROTTLED` changed nothing, `UNCLEAR` may have."""

    kind: str
    words: str = ""


class Endpoints:
    """The endpoints of the account.

    Parameters
    ----------
    change : EndpointsClient
        Makes each call once; whatever changes something goes through it.
    client : EndpointsClient
        Makes the calls that may be repeated.
    scaling : ScalingClient
    require_model : callable
        Raises if the client's model is too old to send what we send.
    """

    def __init__(
        self,
        change: EndpointsClient,
        client: EndpointsClient,
        scaling: ScalingClient,
        require_model: Callable[[Any], None],
    ) -> None:
        self._change = change
        self._client = client
        self._scaling = scaling
        self._require_model = require_model

    def check_model(self) -> None:
        """Refuse to work with a model that is too old."""
        self._require_model(self._change)

    # --- looking
    def look(self, name: str) -> EndpointSight:
        """Return an endpoint as it is; raises what SageMaker raises, except that there is none."""
        described = self._found(self._client.describe_endpoint, EndpointName=name)
        if described is None:
            return EndpointSight()
        config = described.get("EndpointConfigName", "")
        content = self._found(self._client.describe_endpoint_config, EndpointConfigName=config) if config else None
        variants = described.get("ProductionVariants", ())
        shadows = described.get("ShadowProductionVariants", ())
        return EndpointSight(
            described["EndpointStatus"],
            config,
            _plan_of((content or {}).get("ProductionVariants", variants)),
            {variant["VariantName"]: _variant(variant) for variant in (*variants, *shadows)},
            self._tags(described["EndpointArn"]).get(OWNER_TAG, ""),
            described.get("FailureReason", ""),
            described["EndpointArn"],
        )

    def plan(self, arn: str, remembered: PlanSight | None) -> PlanSight:
        """Return a plan as it is; with the edges of the last look while it cannot be read, or is gone."""
        last = remembered or PlanSight(arn, UNREADABLE)
        try:
            described = self._found(self._client.describe_training_plan, TrainingPlanName=arn.rpartition("/")[2])
        except (BotoCoreError, ClientError):
            # Nothing moves onto a plan in this state, and what is on it leaves at the edges that are known.
            return replace(last, status=UNREADABLE, available=None)
        return replace(last, status=GONE) if described is None else PlanSight.of(described)

    def configs(self, names: Collection[str], owners: Collection[str]) -> frozenset[str]:
        """Return which of the configurations exist, without those that carry somebody else's tag."""
        found = set()
        for name in names:
            described = self._found(self._client.describe_endpoint_config, EndpointConfigName=name)
            if described is not None and self._tags(described["EndpointConfigArn"]).get(OWNER_TAG, "") in ("", *owners):
                found.add(name)
        return frozenset(found)

    def registered(self, name: str, variant: str) -> tuple[int, int] | None:
        """Return the least and the most instances that autoscaling is registered with."""
        answer = self._scaling.describe_scalable_targets(ResourceIds=[_resource(name, variant)], **_SCALING)
        rows = answer.get("ScalableTargets", ())
        return (rows[0]["MinCapacity"], rows[0]["MaxCapacity"]) if rows else None

    def _tags(self, arn: str) -> dict[str, str]:
        tags: dict[str, str] = {}
        start: dict[str, str] = {}
        while True:
            page = self._found(self._client.list_tags, ResourceArn=arn, **start) or {}
            tags |= {tag["Key"]: tag["Value"] for tag in page.get("Tags", ())}
            if not (following := page.get("NextToken")):
                return tags
            start = {"NextToken": following}

    def _found(self, call: Callable[..., dict[str, Any]], **request: Any) -> dict[str, Any] | None:
        try:
            return call(**request)
        except ClientError as error:
            if _ABSENT.search(words_of(error)):
                return None
            raise

    # --- changing
    def make(self, name: str, action: Action) -> Result:
        """Make the one call of a decision.

        Parameters
        ----------
        name : str
            The endpoint's.
        action : Action
        """
        try:
            self._call(name, action)
        except (BotoCoreError, ClientError) as error:
            return _meaning(action, error)
        return Result(DONE)

    def _call(self, name: str, action: Action) -> None:
        client, request = self._change, action.request
        match action.call:
            case "create config":
                client.create_endpoint_config(EndpointConfigName=action.name, **request)
            case "delete config":
                client.delete_endpoint_config(EndpointConfigName=action.name)
            case "create endpoint":
                client.create_endpoint(EndpointName=name, **request)
            case "update endpoint":
                client.update_endpoint(EndpointName=name, **request)
            case "scale endpoint":
                client.update_endpoint_weights_and_capacities(EndpointName=name, **request)
            case "delete endpoint":
                client.delete_endpoint(EndpointName=name)
            case "tag endpoint":
                client.add_tags(ResourceArn=action.name, **request)
            case "register scaling":
                self._register(_resource(name, action.name), request)
            case "deregister scaling":
                self._scaling.deregister_scalable_target(ResourceId=_resource(name, action.name), **_SCALING)

    def _register(self, resource: str, request: Mapping[str, Any]) -> None:
        limits = {key: request[key] for key in ("MinCapacity", "MaxCapacity")}
        self._scaling.register_scalable_target(ResourceId=resource, **limits, **_SCALING)
        self._scaling.put_scaling_policy(
            ResourceId=resource,
            PolicyName=request["PolicyName"],
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration=request["PolicyConfig"],
            **_SCALING,
        )


def _meaning(action: Action, error: BotoCoreError | ClientError) -> Result:
    """Return what an error proves; what is there already, or gone already, is done."""
    words = words_of(error)
    if action.call.startswith("create") and _EXISTS.search(words):
        return Result(DONE, words)
    if action.call in ("delete config", "delete endpoint", "deregister scaling") and _ABSENT.search(words):
        return Result(DONE, words)
    outcome = outcome_of(error)
    if outcome.kind == "exists":
        return Result(DONE, words)
    if outcome.kind == "throttled" or _IN_PROGRESS.search(words):
        return Result(THROTTLED, words)
    return Result(REFUSED if outcome.kind == "refused" else UNCLEAR, outcome.cause)


def _variant(described: Mapping[str, Any]) -> VariantSight:
    reserved = described.get("CapacityReservationConfig", {})
    desired = described.get("DesiredInstanceCount", described.get("CurrentInstanceCount", 0))
    return VariantSight(desired, described.get("CurrentInstanceCount", desired), reserved.get("UsedByCurrentEndpoint"))


def _plan_of(variants: Any) -> str:
    arns = [variant.get("CapacityReservationConfig", {}).get("MlReservationArn", "") for variant in variants]
    return next(filter(None, arns), "")


def _resource(name: str, variant: str) -> str:
    return f"endpoint/{name}/variant/{variant}"
