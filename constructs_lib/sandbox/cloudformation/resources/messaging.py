"""AWS::SNS and AWS::SQS types."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from botocore.exceptions import ClientError

from .api import ApiType, absent
from .base import Made, Request, ResourceError, ResourceType, plain, tag_map

__all__ = ["Queue", "QueuePolicy", "Subscription", "Topic", "TopicPolicy"]


def _attributes(properties: dict[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    """Return some properties as the text map that SNS and SQS take."""
    return {name: _text(properties[name]) for name in names if name in properties}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else json.dumps(value)


def _refuse_others(request: Request, known: tuple[str, ...]) -> None:
    beyond = [name for name in request.properties if name not in known]
    if beyond:
        raise ResourceError(f"the sandbox does not support {', '.join(beyond)} of {request.type}")


class Topic(ApiType):
    """A topic with the subscriptions that its template lists."""

    type = "AWS::SNS::Topic"
    attributes = frozenset({"TopicArn", "TopicName"})
    service = "sns"
    answer = ("TopicArn",)
    create_call, delete_call = "CreateTopic", "DeleteTopic"
    name, identifier = "TopicName", "TopicArn"
    name_limit = 256
    rename: ClassVar = {"TopicName": "Name"}
    settable = ("DisplayName", "KmsMasterKeyId", "ContentBasedDeduplication", "SignatureVersion", "TracingConfig")
    apart = frozenset({*settable, "Subscription", "FifoTopic"})

    def parameters(self, request: Request, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the call's parameters."""
        attributes = _attributes(properties, (*self.settable, "FifoTopic"))
        return {**super().parameters(request, properties), **({"Attributes": attributes} if attributes else {})}

    def new_name(self, request: Request) -> str:
        """Return a name; one of a FIFO topic has its ending."""
        is_fifo = _text(request.properties.get("FifoTopic", False)) == "true"
        return request.name(self.name_limit - 5) + (".fifo" if is_fifo else "")

    def apply(self, request: Request) -> None:
        """Set what changed, and subscribe and unsubscribe."""
        client = request.client("sns")
        for name in self.settable:
            if request.old and request.changed(name):
                value = _text(request.properties.get(name, ""))
                client.set_topic_attributes(TopicArn=request.physical_id, AttributeName=name, AttributeValue=value)
        old, new = (
            {(s["Protocol"], s["Endpoint"]) for s in p.get("Subscription", [])}
            for p in (request.old, request.properties)
        )
        for protocol, endpoint in sorted(new - old):
            client.subscribe(TopicArn=request.physical_id, Protocol=protocol, Endpoint=endpoint)
        for subscription in client.list_subscriptions_by_topic(TopicArn=request.physical_id)["Subscriptions"]:
            if (subscription["Protocol"], subscription["Endpoint"]) in old - new:
                client.unsubscribe(SubscriptionArn=subscription["SubscriptionArn"])

    def read(self, request: Request) -> dict[str, Any]:
        """Return ARN and name."""
        return {"TopicArn": request.physical_id, "TopicName": request.physical_id.rpartition(":")[2]}


class Subscription(ResourceType):
    """A subscription to a topic."""

    type = "AWS::SNS::Subscription"
    attributes = frozenset({"Arn"})
    settable = (
        "DeliveryPolicy",
        "FilterPolicy",
        "FilterPolicyScope",
        "RawMessageDelivery",
        "RedrivePolicy",
        "SubscriptionRoleArn",
    )

    def create(self, request: Request) -> Made:
        """Subscribe."""
        wanted = request.properties
        _refuse_others(request, (*self.settable, "TopicArn", "Protocol", "Endpoint", "Region"))
        arn = request.client("sns").subscribe(
            TopicArn=wanted["TopicArn"],
            Protocol=wanted["Protocol"],
            Endpoint=wanted.get("Endpoint", ""),
            Attributes=_attributes(wanted, self.settable),
            ReturnSubscriptionArn=True,
        )["SubscriptionArn"]
        return Made(arn, {"Arn": arn})

    def update(self, request: Request) -> Made:
        """Set what changed."""
        for name in self.settable:
            if request.changed(name):
                value = _text(request.properties.get(name, {} if name.endswith("Policy") else ""))
                request.client("sns").set_subscription_attributes(
                    SubscriptionArn=request.physical_id, AttributeName=name, AttributeValue=value
                )
        return Made(request.physical_id, {"Arn": request.physical_id})

    def delete(self, request: Request) -> None:
        """Unsubscribe."""
        try:
            request.client("sns").unsubscribe(SubscriptionArn=request.physical_id)
        except ClientError as error:
            if not absent(error):
                raise


class TopicPolicy(ResourceType):
    """A policy on topics; removed, each topic has the default one again."""

    type = "AWS::SNS::TopicPolicy"
    attributes = frozenset({"Id"})

    def create(self, request: Request) -> Made:
        """Set the policy on every topic."""
        self._set(request, request.properties["Topics"], plain(request.properties["PolicyDocument"]))
        physical_id = request.name(128)
        return Made(physical_id, {"Id": physical_id})

    def update(self, request: Request) -> Made:
        """Set the policy, and the default one on topics that are no longer named."""
        self._set(request, request.properties["Topics"], plain(request.properties["PolicyDocument"]))
        self._reset(request, [topic for topic in request.old["Topics"] if topic not in request.properties["Topics"]])
        return Made(request.physical_id, {"Id": request.physical_id})

    def delete(self, request: Request) -> None:
        """Set the default policy."""
        self._reset(request, request.properties["Topics"])

    def _set(self, request: Request, topics: list[str], policy: str) -> None:
        for topic in topics:
            request.client("sns").set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=policy)

    def _reset(self, request: Request, topics: list[str]) -> None:
        actions = ("Publish", "Subscribe", "GetTopicAttributes", "SetTopicAttributes", "DeleteTopic")
        for topic in topics:
            statement = {
                "Sid": "__default_statement_ID",
                "Effect": "Allow",
                "Principal": {"AWS": "*"},
                "Action": [f"SNS:{action}" for action in actions],
                "Resource": topic,
                "Condition": {"StringEquals": {"AWS:SourceOwner": request.context.account}},
            }
            try:
                self._set(request, [topic], json.dumps({"Version": "2008-10-17", "Statement": [statement]}))
            except ClientError as error:
                if not absent(error):
                    raise


_QUEUE_ATTRIBUTES = (
    "ContentBasedDeduplication",
    "DeduplicationScope",
    "DelaySeconds",
    "FifoQueue",
    "FifoThroughputLimit",
    "KmsDataKeyReusePeriodSeconds",
    "KmsMasterKeyId",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "RedriveAllowPolicy",
    "RedrivePolicy",
    "SqsManagedSseEnabled",
    "VisibilityTimeout",
)
_QUEUE_DEFAULTS = {
    "DelaySeconds": "0",
    "MaximumMessageSize": "1048576",
    "MessageRetentionPeriod": "345600",
    "ReceiveMessageWaitTimeSeconds": "0",
    "VisibilityTimeout": "30",
}


class Queue(ApiType):
    """A queue."""

    type = "AWS::SQS::Queue"
    attributes = frozenset({"Arn", "QueueName", "QueueUrl"})
    service = "sqs"
    answer = ("QueueUrl",)
    create_call, delete_call = "CreateQueue", "DeleteQueue"
    name, identifier = "QueueName", "QueueUrl"
    name_limit = 80
    apart = frozenset(_QUEUE_ATTRIBUTES)

    def parameters(self, request: Request, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the call's parameters."""
        return {**super().parameters(request, properties), "Attributes": _attributes(properties, _QUEUE_ATTRIBUTES)}

    def new_name(self, request: Request) -> str:
        """Return a name; one of a FIFO queue has its ending."""
        is_fifo = _text(request.properties.get("FifoQueue", False)) == "true"
        return request.name(self.name_limit - 5) + (".fifo" if is_fifo else "")

    def apply(self, request: Request) -> None:
        """Set the attributes that an update changes."""
        changed = [name for name in _QUEUE_ATTRIBUTES if request.old and request.changed(name)]
        if changed:
            values = {name: _QUEUE_DEFAULTS.get(name, "") for name in changed}
            values |= _attributes(request.properties, tuple(changed))
            request.client("sqs").set_queue_attributes(QueueUrl=request.physical_id, Attributes=values)

    def tag(self, request: Request) -> None:
        """Tag the queue."""
        client = request.client("sqs")
        old, new = tag_map(request.old.get("Tags")), tag_map(request.properties.get("Tags"))
        gone = [key for key in old if key not in new]
        if gone:
            client.untag_queue(QueueUrl=request.physical_id, TagKeys=gone)
        if new:
            client.tag_queue(QueueUrl=request.physical_id, Tags=new)

    def read(self, request: Request) -> dict[str, Any]:
        """Return ARN, name and URL."""
        name = request.physical_id.rpartition("/")[2]
        return {"Arn": request.arn("sqs", name), "QueueName": name, "QueueUrl": request.physical_id}


class QueuePolicy(ResourceType):
    """A policy on queues."""

    type = "AWS::SQS::QueuePolicy"
    attributes = frozenset({"Id"})

    def create(self, request: Request) -> Made:
        """Set the policy on every queue."""
        self._set(request, request.properties["Queues"], plain(request.properties["PolicyDocument"]))
        physical_id = request.name(128)
        return Made(physical_id, {"Id": physical_id})

    def update(self, request: Request) -> Made:
        """Set the policy, and none on queues that are no longer named."""
        self._set(request, request.properties["Queues"], plain(request.properties["PolicyDocument"]))
        self._set(request, [q for q in request.old["Queues"] if q not in request.properties["Queues"]], "")
        return Made(request.physical_id, {"Id": request.physical_id})

    def delete(self, request: Request) -> None:
        """Set no policy."""
        self._set(request, request.properties["Queues"], "")

    def _set(self, request: Request, queues: list[str], policy: str) -> None:
        for queue in queues:
            try:
                request.client("sqs").set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy})
            except ClientError as error:
                if policy or not absent(error):
                    raise
