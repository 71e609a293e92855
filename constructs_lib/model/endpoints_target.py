"""The configuration that an endpoint should be on: its content, its counts, its name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from constructs_lib.model.endpoints_declaration import content_hash
from constructs_lib.model.endpoints_item import Asked
from constructs_lib.model.endpoints_rules import ENDPOINT_TAG, OWNER_TAG
from constructs_lib.model.endpoints_strategy import Room, config_name, counts_of, fit, with_counts
from constructs_lib.model.window import moment_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.model.endpoints_declaration import EndpointDeclaration
    from constructs_lib.model.endpoints_view import View
    from constructs_lib.model.endpoints_wanted import Wanted

__all__ = ["Target", "tags_of"]

_NOWHERE = Room(0, 0, 0)

Request = dict[str, Any]


def tags_of(declared: EndpointDeclaration, more: tuple[dict[str, str], ...] = ()) -> list[dict[str, str]]:
    """Return the tags of whatever is made for an endpoint; they say whose it is."""
    given = {tag["Key"]: tag["Value"] for tag in more}
    tags = {**given, **declared.tags, OWNER_TAG: declared.owner, ENDPOINT_TAG: declared.name}
    return [{"Key": key, "Value": value} for key, value in tags.items()]


@dataclass(frozen=True)
class Target:
    """What `Wanted` means for the endpoint at hand.

    Parameters
    ----------
    view : View
    want : Wanted
    declared : EndpointDeclaration
    within_plan : bool
        Whether counts are lowered to what the plan has and others leave.
    """

    view: View
    want: Wanted
    declared: EndpointDeclaration
    within_plan: bool = True

    @cached_property
    def request(self) -> Mapping[str, Any]:
        """The configuration as declared."""
        return self.want.request or {}

    @cached_property
    def room(self) -> Room | None:
        """What the endpoint may use of the plan; ``None`` for on-demand capacity."""
        return Room.of(self.want.plan, self.view.endpoint) if self.want.plan else None

    @cached_property
    def counts(self) -> dict[str, int] | None:
        """The counts of the configuration; ``None`` if nothing fits."""
        return self.fitted(counts_of(self.request))

    @cached_property
    def content(self) -> str:
        """What tells apart what was declared differently, whatever counts fitted."""
        return content_hash({key: value for key, value in self.request.items() if key != "Tags"})

    @cached_property
    def name(self) -> str:
        """The configuration's name; that in service, if it was made for the same content."""
        served, endpoint = self.view.item.served, self.view.endpoint
        if endpoint.exists and served == {**served, "config": endpoint.config, "content": self.content}:
            return endpoint.config
        return config_name(self.view.item.name, with_counts(self.request, self.counts or counts_of(self.request)))

    @cached_property
    def inputs(self) -> str:
        """A hash of what people may change."""
        return content_hash([self.view.item.digest, dict(self.view.item.overrides)])

    @property
    def in_place(self) -> bool:
        """Whether the endpoint is on the capacity that it should be on."""
        return self.view.endpoint.exists and self.view.endpoint.plan == (self.want.plan.arn if self.want.plan else "")

    @property
    def failed(self) -> bool:
        """Whether this very try was rolled back."""
        back, room = self.view.item.rolled_back, self.room or _NOWHERE
        return back is not None and back.holds(self.name, self.want.phase, self.inputs, room.total, room.others)

    def fitted(self, counts: Mapping[str, int]) -> dict[str, int] | None:
        """Return counts within what the plan has and others leave; ``None`` if not one instance each fits."""
        return fit(counts, self.room.limit) if self.room and self.within_plan else dict(counts)

    def aims(self) -> dict[str, int] | None:
        """Return the counts that the endpoint should have; within its bounds, autoscaling decides."""
        if self.declared.scaling and self.want.plan:
            return self.fitted({name: variant.desired for name, variant in self.view.endpoint.variants.items()})
        counts = counts_of(self.request)
        first = next(iter(counts))
        return self.fitted({**counts, first: self.view.item.overrides.get("instance_count", counts[first])})

    def config_request(self) -> Request:
        """Return the CreateEndpointConfig request."""
        return self.tagged(with_counts(self.request, self.counts or {}))

    def tagged(self, request: Mapping[str, Any]) -> Request:
        """Return a configuration with our tags."""
        return {**request, "Tags": tags_of(self.declared, tuple(request.get("Tags", ())))}

    def ask(self, how: str) -> Asked:
        """Return what is to be stored before the endpoint is asked to take the configuration."""
        room, plan = self.room or _NOWHERE, self.want.plan
        until = plan.position(self.view.now, self.declared.margin).usable_end if plan else None
        return Asked(
            self.name,
            self.view.endpoint.config if self.view.endpoint.exists else "",
            self.want.phase,
            self.inputs,
            self.content,
            how,
            self.view.now.timestamp(),
            moment_text(until) if until else "",
            room.total,
            room.others,
        )
