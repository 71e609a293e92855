"""The keeper's function, as others wake it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.runtime.adapters.outcomes import words_of

if TYPE_CHECKING:
    from constructs_lib.runtime.endpoint_ports import LambdaClient

__all__ = ["Keeper"]


class Keeper:
    """The function that keeps endpoints.

    Parameters
    ----------
    client : LambdaClient
    function : str
        Its name; "" if nobody may wake it.
    """

    def __init__(self, client: LambdaClient, function: str) -> None:
        self._client = client
        self._function = function

    def wake(self, name: str) -> str | None:
        """Let the keeper look at an endpoint soon, without waiting for it.

        Returns
        -------
        str or None
            Why it could not be woken; it looks by itself once a period.
        """
        if not self._function:
            return "no function is named that keeps endpoints"
        payload = json.dumps({"action": "reconcile", "names": [name]}).encode()
        try:
            self._client.invoke(FunctionName=self._function, InvocationType="Event", Payload=payload)
        except (BotoCoreError, ClientError) as error:
            return f"{self._function} could not be woken ({words_of(error)})"
        return None
