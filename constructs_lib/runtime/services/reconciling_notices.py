"""Telling people once what they should hear of an endpoint."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.runtime.adapters.outcomes import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from constructs_lib.runtime.ports import SNSClient, Writer

__all__ = ["Noticing"]

_LONGEST_SUBJECT = 99
_REMEMBERED = 50


@dataclass(frozen=True, slots=True)
class Noticing:
    """Publishes to a topic, if there is one.

    Parameters
    ----------
    sns : SNSClient
    topic : str
        "" for none.
    write : Writer
    """

    sns: SNSClient
    topic: str
    write: Writer

    def tell(
        self, name: str, notices: Iterable[tuple[str, str]], before: Mapping[str, float], now: float
    ) -> dict[str, float]:
        """Tell what was not told before; what could not be told is told by the next run.

        Returns
        -------
        dict
            When what was told, the latest of it.
        """
        told = dict(before)
        for key, words in notices:
            if key not in told and self._publish(name, words):
                told[key] = now
        return dict(sorted(told.items(), key=lambda row: row[1])[-_REMEMBERED:])

    def _publish(self, name: str, words: str) -> bool:
        self.write(json.dumps({"endpoint": name, "notice": words}))
        if not self.topic:
            return True
        try:
            self.sns.publish(TopicArn=self.topic, Subject=f"Endpoint {name}"[:_LONGEST_SUBJECT], Message=words)
        except (BotoCoreError, ClientError) as error:
            # An endpoint is kept whether or not people can be told.
            self.write(json.dumps({"endpoint": name, "untold": words_of(error)}))
            return False
        return True
