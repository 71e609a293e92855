"""The API of endpoints and of their configurations."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from constructs_lib.sandbox.errors import SandboxError
from constructs_lib.sandbox.switches import reading

from .endpoint_deployment import check_deployment, peak, steps_of
from .endpoint_invoke import Invocations
from .endpoint_life import EndpointLife
from .endpoint_request import check_config, check_plan, invalid, read_config
from .endpoint_rollout import USAGE
from .endpoint_state import IN_PROGRESS, Endpoint, Fleet
from .evaluation import Entry
from .quotas import check_quotas

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.sandbox.context import Context

    from .capacity import Capacity
    from .endpoint_request import Config
    from .placement import Placement
    from .resources import Resources
    from .tags import Tags

__all__ = ["Endpoints"]

Request = dict[str, Any]
_CONTROLLED: Final = ("InService", "OutOfService", "SystemUpdating", "UpdateRollbackFailed", "Failed")


class Endpoints:
    """Endpoints and their configurations; their describing, listing and tags are those of all named resources.

    Parameters
    ----------
    context
        Switches and events.
    capacity
        Quotas, and how long transitions take.
    placement, resources, tags
        Where instances come from, and where what is named and tagged is kept.
    """

    def __init__(
        self, context: Context, capacity: Capacity, placement: Placement, resources: Resources, tags: Tags
    ) -> None:
        self._context, self._capacity, self._placement, self._resources = context, capacity, placement, resources
        self._agenda, self._plans = placement.agenda, placement.plans
        self._life = EndpointLife(context, capacity, placement, tags, self._has_config)
        self._endpoints: dict[str, Endpoint] = {}
        self._invocations = Invocations(context.account)

    def operations(self) -> dict[str, Callable[[Request], Request]]:
        """Return the API operations by name."""
        return {
            "CreateEndpointConfig": self._create_config,
            "DeleteEndpointConfig": self._delete_config,
            "CreateEndpoint": self._create,
            "UpdateEndpoint": self._update,
            "UpdateEndpointWeightsAndCapacities": self._scale,
            "DescribeEndpoint": self._describe,
            "ListEndpoints": self._list,
            "DeleteEndpoint": self._delete,
        }

    def invoke(self, endpoint_name: str, body: bytes = b"", target_variant: str | None = None) -> tuple[bytes, str]:
        """Send a request to an endpoint whose models echo it.

        Returns
        -------
        tuple
            The answer's body, and the production variant that gave it.

        Raises
        ------
        ServiceError
            ``ValidationError`` if nothing of this name is in service, ``ModelError`` if its reservation has ended.
        """
        with self._agenda.moment() as now:
            return self._invocations.answer(
                self._endpoints.get(endpoint_name), endpoint_name, body, target_variant, now
            )

    def invocations(self, endpoint_name: str | None = None) -> list[dict[str, Any]]:
        """Return every request that endpoints, or one of them, received, the oldest first.

        Returns
        -------
        list of dict
            ``time`` (epoch seconds), ``endpoint``, ``config`` and ``variant`` that answered (None if nothing did) and
            ``error`` (its code; None if it was answered).
        """
        with self._agenda.moment():
            rows = self._invocations.log
            return [dict(row) for row in rows if endpoint_name in (None, row["endpoint"])]

    def invocations_since(self, start: float) -> list[dict[str, Any]]:
        """Return the requests received from a moment on."""
        with self._agenda.moment():
            rows = itertools.takewhile(lambda row: row["time"] >= start, reversed(self._invocations.log))
            return [dict(row) for row in rows]

    def in_service(self, endpoint_name: str, variant: str) -> int | None:
        """Return how many instances a variant is to have; None unless its endpoint is InService and serves it."""
        with self._agenda.moment():
            endpoint = self._endpoints.get(endpoint_name)
            if endpoint is None or endpoint.status != "InService":
                return None
            served = any(found.name == variant and found.entries for found in endpoint.serving())
            return endpoint.live.counts[variant] if served else None

    def set_count(self, endpoint_name: str, variant: str, count: int) -> None:
        """Let a variant have so many instances, as UpdateEndpointWeightsAndCapacities does."""
        row = {"VariantName": variant, "DesiredInstanceCount": count}
        self._scale({"EndpointName": endpoint_name, "DesiredWeightsAndCapacities": [row]})

    def log(self, endpoint_name: str | None = None) -> list[dict[str, Any]]:
        """Return what happened to endpoints, or to one of them, the oldest first.

        Returns
        -------
        list of dict
            ``time`` (epoch seconds), ``endpoint``, ``what`` (the status it took, ``reservation expired``,
            ``configuration deleted while in use`` or ``deleted``), ``config`` (in service) and ``reason``.
        """
        with self._agenda.moment():
            return [dict(row) for row in self._life.log if endpoint_name in (None, row["endpoint"])]

    def set_status(self, endpoint_name: str, status: str) -> None:
        """Give an endpoint a status that AWS gives by itself, such as ``SystemUpdating``.

        Raises
        ------
        SandboxError
            If there is no such endpoint, it is in progress, or the status is none that can be given.
        """
        with self._agenda.moment() as now:
            endpoint = self._endpoints.get(endpoint_name)
            if endpoint is None:
                raise SandboxError(f"there is no endpoint {endpoint_name!r}: create it first")
            if status not in _CONTROLLED:
                raise SandboxError(f"status {status!r} can not be given: use one of {', '.join(_CONTROLLED)}")
            if endpoint.status in IN_PROGRESS and endpoint.status != "SystemUpdating":
                raise SandboxError(f"endpoint {endpoint_name} is {endpoint.status}: wait until that is over")
            self._life.set_status(endpoint, status, now)

    def _has_config(self, name: str) -> bool:
        return self._resources.has("EndpointConfig", name)

    def _create_config(self, request: Request) -> Request:
        with self._agenda.moment() as now:
            check_config(request, self._plans, self._context.faults, now)
            return self._resources.create("EndpointConfig", request)

    def _delete_config(self, request: Request) -> Request:
        with self._agenda.moment() as now:
            answer = self._resources.delete("EndpointConfig", request)
            for endpoint in self._endpoints.values():
                fleets = [fleet for fleet in (endpoint.live, endpoint.coming) if fleet is not None]
                if any(fleet.config.name == request["EndpointConfigName"] for fleet in fleets):
                    self._life.note(endpoint, "configuration deleted while in use", now, request["EndpointConfigName"])
            return answer

    def _create(self, request: Request) -> Request:
        name = request["EndpointName"]
        with self._agenda.moment() as now:
            config = read_config(self._resources.find("EndpointConfig", request["EndpointConfigName"]))
            fleet = Fleet(config, _counts(config), {variant.name: variant.weight for variant in config.variants})
            check_plan(config, fleet.counts, self._plans, now, active=True)
            if not self._resources.has("Endpoint", name):
                self._check_quotas(fleet, sum(fleet.counts.values()))
            answer = self._resources.create("Endpoint", request)
            endpoint = Endpoint(name, answer["EndpointArn"], fleet, now, deployment=request.get("DeploymentConfig"))
            self._endpoints[name] = endpoint
            self._life.create(endpoint, now)
            return answer

    def _update(self, request: Request) -> Request:
        with self._agenda.moment() as now:
            endpoint = self._changeable(request["EndpointName"])
            config = read_config(self._resources.find("EndpointConfig", request["EndpointConfigName"]))
            fleet = _retained(endpoint, config, request)
            check_plan(config, fleet.counts, self._plans, now, active=True)
            given = request.get("DeploymentConfig")
            kept = endpoint.deployment if request.get("RetainDeploymentConfig") else None
            deployment = given or kept or {}
            check_deployment(deployment, endpoint.live, fleet)
            old = {v.name: len(endpoint.of(endpoint.live, v)) for v in endpoint.live.config.variants}
            steps = steps_of(deployment, old, fleet, self._life.times(endpoint.name, fleet))
            self._check_quotas(fleet, peak(steps))
            endpoint.deployment = deployment or None
            self._life.update(endpoint, fleet, steps, now)
            return {"EndpointArn": endpoint.arn}

    def _scale(self, request: Request) -> Request:
        with self._agenda.moment() as now:
            endpoint = self._changeable(request["EndpointName"])
            fleet, rows = endpoint.live, request["DesiredWeightsAndCapacities"]
            if unknown := sorted({row["VariantName"] for row in rows} - fleet.counts.keys()):
                raise invalid(f"Endpoint {endpoint.name} has no variant {', '.join(unknown)}.")
            counts = fleet.counts | _given(rows, "DesiredInstanceCount")
            if fewest := [name for name, count in _given(rows, "DesiredInstanceCount").items() if count < 1]:
                raise invalid(f"DesiredInstanceCount of {', '.join(fewest)} must be 1 or more.")
            check_plan(fleet.config, counts, self._plans, now, active=False)
            more = {name: max(0, count - fleet.counts[name]) for name, count in counts.items()}
            self._check_quotas(Fleet(fleet.config, more, {}), sum(more.values()))
            self._life.scale(endpoint, counts, fleet.weights | _given(rows, "DesiredWeight"), now)
            return {"EndpointArn": endpoint.arn}

    def _describe(self, request: Request) -> Request:
        with self._agenda.moment() as now:
            self._show(request["EndpointName"], now)
            return self._resources.describe("Endpoint", request)

    def _list(self, request: Request) -> Request:
        with self._agenda.moment() as now:
            for name in self._endpoints:
                self._show(name, now)
            return self._resources.list("Endpoint", request)

    def _delete(self, request: Request) -> Request:
        with self._agenda.moment() as now:
            endpoint = self._find(request["EndpointName"])
            _check_idle(endpoint)

            def gone(t: float) -> None:
                self._life.note(endpoint, "deleted", t)
                del self._endpoints[endpoint.name]
                self._resources.delete("Endpoint", request)

            self._life.delete(endpoint, gone, now)
            return {}

    def _show(self, name: str, now: float) -> None:
        """Bring what is kept of an endpoint up to date."""
        kept = self._resources.find("Endpoint", name)
        kept |= self._endpoints[kept["EndpointName"]].shown(self._plans, now)

    def _find(self, name: str) -> Endpoint:
        return self._endpoints[self._resources.find("Endpoint", name)["EndpointName"]]

    def _changeable(self, name: str) -> Endpoint:
        """Return an endpoint that may be updated now."""
        endpoint = self._find(name)
        _check_idle(endpoint)
        if endpoint.status == "Failed":
            raise invalid(f'Cannot update endpoint "{endpoint.arn}" in status Failed: it can only be deleted.')
        if reading(self._context.faults, "sagemaker.endpoint-config-deleted") == "refused":
            self._resources.find("EndpointConfig", endpoint.live.config.name)
        return endpoint

    def _check_quotas(self, fleet: Fleet, count: int) -> None:
        """Refuse what exceeds the quota of any type that it may come from."""
        types = {entry.instance_type for variant in fleet.config.variants for entry in variant.entries}
        wanted = [Entry(name, count) for name in sorted(types)]
        check_quotas(self._capacity.quotas, wanted, USAGE, self._placement.in_use)


def _check_idle(endpoint: Endpoint) -> None:
    if endpoint.status in IN_PROGRESS:
        raise invalid(f'Cannot update in-progress endpoint "{endpoint.arn}".')


def _counts(config: Config) -> dict[str, int]:
    return {variant.name: variant.count for variant in config.variants}


def _given(rows: list[Request], member: str) -> dict[str, Any]:
    return {row["VariantName"]: row[member] for row in rows if member in row}


def _retained(endpoint: Endpoint, config: Config, request: Request) -> Fleet:
    """Return the fleet of an update: the configuration's numbers, or those the endpoint has."""
    excluded = {row["VariantPropertyType"] for row in request.get("ExcludeRetainedVariantProperties", ())}
    counts, weights = _counts(config), {variant.name: variant.weight for variant in config.variants}
    if request.get("RetainAllVariantProperties"):
        old = endpoint.live
        if "DesiredInstanceCount" not in excluded:
            sized = {v.name for v in config.variants if v.entries}
            counts |= {name: old.counts[name] for name in sized if old.counts.get(name)}
        if "DesiredWeight" not in excluded:
            weights |= {name: old.weights[name] for name in weights.keys() & old.weights.keys()}
    return Fleet(config, counts, weights)
