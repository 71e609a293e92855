"""What the services that keep endpoints work with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constructs_lib.runtime.adapters.endpoints import Endpoints
    from constructs_lib.runtime.endpoint_table import EndpointTable
    from constructs_lib.runtime.ports import Clock, Writer
    from constructs_lib.runtime.services.reconciling_notices import Noticing

__all__ = ["KeeperMeans"]


@dataclass(frozen=True, slots=True)
class KeeperMeans:
    """The items, the endpoints, who is told, time, and where the log goes."""

    table: EndpointTable
    endpoints: Endpoints
    noticing: Noticing
    clock: Clock
    write: Writer
