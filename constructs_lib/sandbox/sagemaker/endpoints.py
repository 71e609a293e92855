"""Endpoints, minimal: InService at once, without capacity; their life cycle is not played here yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .resources import Resources

__all__ = ["Endpoints"]

Request = dict[str, Any]


class Endpoints:
    """What sets endpoints apart from other named resources: they need a configuration and show its variants."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def operations(self) -> dict[str, Callable[[Request], Request]]:
        """Return the API operations by name."""
        return {
            "CreateEndpoint": lambda request: self._resources.create("Endpoint", self._with_variants(request)),
            "UpdateEndpoint": lambda request: self._resources.update("Endpoint", self._with_variants(request)),
        }

    def _with_variants(self, request: Request) -> Request:
        config = self._resources.find("EndpointConfig", request["EndpointConfigName"])
        return request | {"ProductionVariants": [_variant(variant) for variant in config["ProductionVariants"]]}


def _variant(variant: Request) -> Request:
    shown = {"VariantName": variant["VariantName"]}
    shown |= dict.fromkeys(("CurrentWeight", "DesiredWeight"), variant.get("InitialVariantWeight", 1.0))
    if "InitialInstanceCount" in variant:
        shown |= dict.fromkeys(("CurrentInstanceCount", "DesiredInstanceCount"), variant["InitialInstanceCount"])
    return shown
