"""Where the buyer and the watcher are put together: settings from the environment, clients, adapters, services."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from constructs_lib.model.purchase_names import NOTICE_TOPIC_VARIABLE, PURCHASE_TABLE, PURCHASE_TABLE_VARIABLE
from constructs_lib.model.purchase_timing import BUYER_TIMEOUT
from constructs_lib.runtime.adapters.clients import CALL_LIFE, buyer_clients, require_plan_model
from constructs_lib.runtime.adapters.notices import Notices
from constructs_lib.runtime.adapters.stacks import Stacks
from constructs_lib.runtime.adapters.training_plans import TrainingPlans
from constructs_lib.runtime.purchase_table import PurchaseTable
from constructs_lib.runtime.services.buyer_means import BuyerMeans
from constructs_lib.runtime.services.buying import Buying
from constructs_lib.runtime.services.extending import Extending
from constructs_lib.runtime.services.looking import Looking
from constructs_lib.runtime.services.patience import Patience
from constructs_lib.runtime.services.quoting import Quoting
from constructs_lib.runtime.services.resolving import Resolving
from constructs_lib.runtime.services.till import Till

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.runtime.ports import (
        Clock,
        CloudFormationClient,
        EventsClient,
        PlansClient,
        PurchaseTableClient,
        SNSClient,
        Writer,
    )
    from constructs_lib.runtime.services.watching import Watching

__all__ = ["BuyerServices", "build", "resolving", "services", "table_name"]


@dataclass(frozen=True, slots=True)
class BuyerServices:
    """What the handlers call."""

    buying: Buying

    def watching(self) -> Watching:
        """Return the watcher, which the buyer's function never loads."""
        from constructs_lib.runtime.services.watching import Watching  # noqa: PLC0415  every import delays a deploy

        return Watching(self.buying.means, self.buying.looking)


def build(
    *,
    create: PlansClient,
    sagemaker: PlansClient,
    dynamodb: PurchaseTableClient,
    cloudformation: CloudFormationClient,
    sns: SNSClient,
    events: EventsClient,
    table: str,
    clock: Clock,
    write: Writer,
    topic: str = "",
    model: Callable[[Any], None] = require_plan_model,
) -> BuyerServices:
    """Put the services together.

    Parameters
    ----------
    create, sagemaker : PlansClient
        The first makes each call once.
    dynamodb, cloudformation, sns, events
        Botocore clients.
    table : str
        The purchase table's name.
    clock : Clock
    write : Writer
        Takes the log lines.
    topic : str
        Where the watcher's notices go besides the event bus.
    model : callable
        Judges the model of ``create``.
    """
    means = BuyerMeans(
        PurchaseTable(dynamodb, table, clock),
        TrainingPlans(create, sagemaker, model),
        Stacks(cloudformation),
        Notices(sns, events, topic),
        Patience(clock, BUYER_TIMEOUT, CALL_LIFE),
        clock,
        write,
    )
    till, looking = Till(means), Looking(means)
    return BuyerServices(Buying(means, looking, Quoting(means), till, Extending(means, till)))


@cache
def services() -> BuyerServices:
    """Return the services of this process, built on first use."""
    return build(
        **buyer_clients(),
        table=table_name(),
        clock=time,
        write=_write_line,
        topic=os.environ.get(NOTICE_TOPIC_VARIABLE, ""),
    )


def resolving(dynamodb: PurchaseTableClient, table: str = PURCHASE_TABLE, clock: Clock = time) -> Resolving:
    """Return what writes approvals and resolutions, for a person's own client of DynamoDB."""
    return Resolving(PurchaseTable(dynamodb, table, clock), Patience(clock, BUYER_TIMEOUT, CALL_LIFE), clock)


def table_name() -> str:
    """Return the purchase table's name."""
    return os.environ.get(PURCHASE_TABLE_VARIABLE) or PURCHASE_TABLE


def _write_line(line: str) -> None:
    # Not through logging: embedded metrics are read from lines that are nothing but JSON.
    sys.stdout.write(line + "\n")
