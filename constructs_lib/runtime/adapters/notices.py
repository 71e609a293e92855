"""What is told to people and to event rules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.model.purchase_names import EVENT_SOURCE, NOTICE
from constructs_lib.runtime.adapters.outcomes import words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.runtime.ports import EventsClient, SNSClient

__all__ = ["Notices"]

_LONGEST_SUBJECT = 99


class Notices:
    """Publishes to topics and puts events on the default bus.

    Parameters
    ----------
    sns : SNSClient
    events : EventsClient
    topic : str
        Where notices of the watcher go besides; "" for nowhere.
    """

    def __init__(self, sns: SNSClient, events: EventsClient, topic: str = "") -> None:
        self._sns = sns
        self._events = events
        self._topic = topic

    def ask(self, topic: str, subject: str, words: str) -> str | None:
        """Ask people for something.

        Returns
        -------
        str or None
            Why they could not be asked; ``None`` if they were.
        """
        try:
            self._publish(topic, subject, words)
        except (BotoCoreError, ClientError) as error:
            return f"the notice could not be published to {topic} ({words_of(error)})"
        return None

    def put(self, detail_type: str, arn: str, detail: Mapping[str, Any]) -> None:
        """Put an event about a plan.

        Raises
        ------
        ConnectionError
            If EventBridge did not take it.
        """
        entry = {"Source": EVENT_SOURCE, "DetailType": detail_type, "Detail": json.dumps(detail), "Resources": [arn]}
        answer = self._events.put_events(Entries=[entry])
        if answer.get("FailedEntryCount"):
            failed = answer["Entries"][0]
            raise ConnectionError(f"EventBridge did not take an event: {failed.get('ErrorCode')}")

    def tell(self, arn: str, detail: Mapping[str, Any]) -> None:
        """Put a notice about a plan as an event, and publish it if there is a topic; errors are those of `put`."""
        self.put(NOTICE, arn, detail)
        if self._topic:
            self._publish(self._topic, f"Training plan {detail['TrainingPlanName']}", detail["Message"])

    def _publish(self, topic: str, subject: str, words: str) -> None:
        self._sns.publish(TopicArn=topic, Subject=subject[:_LONGEST_SUBJECT], Message=words)
