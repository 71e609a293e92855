"""A person's consent to a purchase, asked for over a topic and given with ``gpucap approve``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constructs_lib.model import InvalidInputError, is_unresolved

if TYPE_CHECKING:
    from aws_cdk.interfaces.aws_sns import ITopicRef

__all__ = ["Approval", "topic_arn"]


def topic_arn(prop: str, topic: ITopicRef | str) -> str:
    """Return a topic's ARN.

    Raises
    ------
    InvalidInputError
        For anything that is no topic.
    """
    if topic is None or topic == "":
        raise InvalidInputError(
            f"{prop}: an SNS topic or its ARN is needed, {topic!r} was given: nobody could be asked"
        )
    arn = topic if isinstance(topic, str) else topic.topic_ref.topic_arn
    if not is_unresolved(arn) and ":sns:" not in arn:
        raise InvalidInputError(f"{prop}: {arn!r} is no topic; write it as arn:aws:sns:<region>:<account>:<name>")
    return arn


@dataclass(frozen=True, slots=True)
class Approval:
    """Whether a person has to consent before anything is bought; made by `required`.

    Nothing is approved by default, and whoever cannot be reached is waited for, for ever: nothing is bought meanwhile.
    """

    topic: str

    @classmethod
    def required(cls, *, topic: ITopicRef | str) -> Approval:
        """Ask over a topic, once for each generation and fee.

        Parameters
        ----------
        topic : ITopicRef or str
            The topic, or its ARN, whose subscribers are asked. They consent with ``gpucap approve``, under their own
            IAM permissions on the purchase table.

        Raises
        ------
        InvalidInputError
            If there is no topic.

        Examples
        --------
        >>> Approval.required(topic="arn:aws:sns:us-west-2:111122223333:purchases").properties()["Required"]
        'true'
        """
        return cls(topic_arn("Approval.required", topic))

    def properties(self) -> dict[str, str]:
        """Return the purchase's property ``Approval``."""
        return {"Required": "true", "TopicArn": self.topic}
