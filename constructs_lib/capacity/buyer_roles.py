"""What the functions that buy and watch training plans may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.model.purchase_names import PURCHASE_TABLE
from constructs_lib.shared.policies import Statement, allow

if TYPE_CHECKING:
    from collections.abc import Collection

    from constructs_lib.shared.policies import Place

__all__ = ["WHY_WIDE", "Served", "buyer_statements", "plan_users", "watcher_statements"]

WHY_WIDE = {
    "sagemaker": "plans by their declared names and generations; reserved capacity, whose ids nobody knows before the"
    " purchase; searching and extending have no resource types",
    "logs": "the streams of the functions' own log group",
    "events": "the default bus; the events' source is bounded",
}
"""Why a statement of ours names more than one resource, by the service of its actions."""

_SPENDING = ("CreateTrainingPlan", "CreateReservedCapacity")


@dataclass(slots=True)
class Served:
    """What the plans of a stack need of its functions.

    Parameters
    ----------
    identities : dict
        The declared names, as keys.
    topics : dict
        ARNs of the topics that are asked for approval, as keys.
    extends : bool
        Whether any plan is to be extended.
    """

    identities: dict[str, None]
    topics: dict[str, None]
    extends: bool = False


def buyer_statements(place: Place, served: Served, *, stack_id: str, log_group: str) -> list[Statement]:
    """Return what buying takes, and nothing else that spends.

    Notes
    -----
    Source: SageMaker guide, training-plan-iam-permissions: a purchase needs CreateReservedCapacity and AddTags too.
    """
    plans, reserved = _plans(place, served.identities), [place.arn("sagemaker", "reserved-capacity/*")]
    on_purchase = {"StringEquals": {"sagemaker:TaggingAction": list(_SPENDING)}}
    table = place.arn("dynamodb", f"table/{PURCHASE_TABLE}")
    statements = [
        allow([f"sagemaker:{action}" for action in _SPENDING], plans + reserved),
        allow(["sagemaker:AddTags"], plans + reserved, on_purchase),
        # The tags of a plan that is bought already: none of the keys above is there then.
        allow(["sagemaker:AddTags", "sagemaker:DescribeTrainingPlan", "sagemaker:ListTags"], plans),
        allow(["sagemaker:SearchTrainingPlanOfferings"], ["*"]),
        allow(["cloudformation:DescribeStacks"], [stack_id]),
        allow([f"dynamodb:{verb}" for verb in _RECORD], [table]),
        _logs(log_group),
    ]
    if served.extends:
        statements += [
            allow(["sagemaker:ExtendTrainingPlan"], ["*"]),
            allow(["sagemaker:DescribeTrainingPlanExtensionHistory"], plans),
        ]
    return statements + ([allow(["sns:Publish"], list(served.topics))] if served.topics else [])


# The buyer makes the table when it is not there yet, and lets it be restored to any moment.
_RECORD = ("GetItem", "UpdateItem", "CreateTable", "UpdateContinuousBackups")


def watcher_statements(place: Place, served: Served, *, notice_topic: str | None, log_group: str) -> list[Statement]:
    """Return what following the plans of a stack takes; nothing here can spend."""
    table = place.arn("dynamodb", f"table/{PURCHASE_TABLE}")
    ours = {"StringEquals": {"events:source": "gpu-capacity"}}
    look = ["DescribeTrainingPlan", "DescribeTrainingPlanExtensionHistory", "ListTags"]
    return [
        allow([f"sagemaker:{action}" for action in look], _plans(place, served.identities)),
        allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], [table]),
        allow(["events:PutEvents"], [place.arn("events", "event-bus/default")], ours),
        _logs(log_group),
        *([allow(["sns:Publish"], [notice_topic])] if notice_topic else []),
    ]


def plan_users(place: Place, target: str, plan: str, *, name_prefix: str) -> list[Statement]:
    """Return what using a plan takes: the call is authorized on the user, on the plan and on its reserved capacity.

    Notes
    -----
    Endpoints and Studio apps name no plan to IAM. Source: Service Authorization Reference, SageMaker.
    """
    reserved = place.arn("sagemaker", "reserved-capacity/*")
    users = {
        "training-job": (["sagemaker:CreateTrainingJob"], f"training-job/{name_prefix}*"),
        "hyperpod-cluster": (["sagemaker:CreateCluster", "sagemaker:UpdateCluster"], f"cluster/{name_prefix}*"),
    }
    look = [
        allow(["sagemaker:DescribeTrainingPlan"], [plan]),
        allow(["sagemaker:DescribeReservedCapacity"], [reserved]),
    ]
    if target not in users:
        return look
    actions, user = users[target]
    return [allow(actions, [place.arn("sagemaker", user), plan, reserved]), *look]


def _plans(place: Place, identities: Collection[str]) -> list[Any]:
    """Return the ARNs of all generations; SageMaker writes some names into ARNs in lower case, so both are allowed."""
    names = dict.fromkeys(form for name in identities for form in (name, name.lower()))
    return [place.arn("sagemaker", f"training-plan/{name}{rest}") for name in names for rest in ("", "-*")]


def _logs(log_group: str) -> Statement:
    return allow(["logs:CreateLogStream", "logs:PutLogEvents"], [log_group])
