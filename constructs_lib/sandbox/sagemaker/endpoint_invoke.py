"""Requests to endpoints, answered by models that echo them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import ServiceError

from .endpoint_life import EXPIRED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .endpoint_request import Variant
    from .endpoint_state import Endpoint

__all__ = ["Invocations"]


class Invocations:
    """Answers requests and remembers them.

    Parameters
    ----------
    account
        Whom the words of a refusal name.

    Attributes
    ----------
    log
        Every request: ``time``, ``endpoint``, ``config``, ``variant`` and ``error``.
    """

    def __init__(self, account: str) -> None:
        self.log: list[dict[str, Any]] = []
        self._account = account
        self._share: dict[tuple[str, str], float] = defaultdict(float)

    def answer(
        self, endpoint: Endpoint | None, name: str, body: bytes, target: str | None, now: float
    ) -> tuple[bytes, str]:
        """Return the body and the variant that answered.

        Raises
        ------
        ServiceError
            ``ValidationError`` or ``ModelError``.
        """
        row: dict[str, Any] = {"time": now, "endpoint": name, "config": None, "variant": None, "error": None}
        self.log.append(row)
        try:
            row["variant"] = variant = self._choose(endpoint, name, target)
        except ServiceError as error:
            row["error"] = error.code
            raise
        if endpoint is not None:
            row["config"] = self._config(endpoint, variant)
        return body, variant

    def _config(self, endpoint: Endpoint, variant: str) -> str:
        """Return the configuration of the instance whose turn it is: during an update there may be two."""
        fleets = [unit.fleet for unit in endpoint.units if unit.serves and unit.variant.name == variant]
        return (fleets[len(self.log) % len(fleets)] if fleets else endpoint.live).config.name

    def _choose(self, endpoint: Endpoint | None, name: str, target: str | None) -> str:
        serving = endpoint.serving() if endpoint is not None else []
        if endpoint is None or (not serving and not endpoint.expired):
            raise ServiceError("ValidationError", f"Endpoint {name} of account {self._account} not found.")
        if not serving:
            raise ServiceError("ModelError", EXPIRED, 424)
        if target is None:
            return self._next(endpoint, serving)
        if target not in {variant.name for variant in serving}:
            raise ServiceError("ValidationError", f"Variant {target} of endpoint {name} not found.")
        return target

    def _next(self, endpoint: Endpoint, serving: Sequence[Variant]) -> str:
        """Return the variant whose turn it is, each as often as its weight says."""
        fleet = endpoint.live
        weights = {variant.name: fleet.weights.get(variant.name, variant.weight) for variant in serving}
        for variant, weight in weights.items():
            self._share[endpoint.name, variant] += weight
        chosen = max(weights, key=lambda variant: self._share[endpoint.name, variant])
        self._share[endpoint.name, chosen] -= sum(weights.values())
        return chosen
