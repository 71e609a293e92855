"""What is remembered of an endpoint between two runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from constructs_lib.model.endpoints_declaration import EndpointDeclaration
from constructs_lib.model.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OVERRIDES", "Asked", "Calling", "EndpointItem", "RolledBack"]

OVERRIDES = ("instance_count", "on_expiry_now", "adopted")
"""What people may set besides the declaration, until the next one."""


@dataclass(frozen=True, slots=True)
class RolledBack:
    """A configuration that did not come into service: not to be tried again in the same phase with the same inputs.

    ``total`` and ``others`` are the instances of the plan, and those that others used: more room is another input.
    """

    config: str
    phase: str
    inputs: str
    reason: str
    at: str
    total: int = 0
    others: int = 0

    def holds(self, config: str, phase: str, inputs: str, total: int, others: int) -> bool:
        """Tell whether a try would be the same again."""
        same = (self.config, self.phase, self.inputs) == (config, phase, inputs)
        return same and total <= self.total and others >= self.others


@dataclass(frozen=True, slots=True)
class Asked:
    """An endpoint call that was about to be made.

    ``source`` is the configuration that was in service before, ``content`` a hash of the one that was declared,
    ``until`` the usable end of the plan's segment; ``seen`` says that SageMaker surely took the call.
    """

    config: str
    source: str
    phase: str
    inputs: str
    content: str
    strategy: str
    at: float
    until: str = ""
    total: int = 0
    others: int = 0
    seen: bool = False

    def failed(self, reason: str, at: str) -> RolledBack:
        """Return the marker of what was asked, not to be asked again."""
        return RolledBack(self.config, self.phase, self.inputs, reason, at, self.total, self.others)


@dataclass(frozen=True, slots=True)
class Calling:
    """A call whose outcome is not known: it may still arrive."""

    call: str
    name: str
    at: float


@dataclass(frozen=True, slots=True)
class EndpointItem:
    """One endpoint.

    Parameters
    ----------
    name, owner : str
    declaration : Mapping
        The custom resource's properties, as `EndpointDeclaration.of` reads them.
    desired : str
        ``present`` or ``absent``.
    overrides : Mapping
        Of `OVERRIDES`.
    asked, rolled_back, calling
        What was asked of SageMaker and is not settled, what it did not do, and which calls may still arrive.
    made : tuple of str
        Our configurations of the endpoint, by name.
    served : Mapping
        ``config``, ``content`` and ``until``: what was asked for last and came into service.
    scaled : str
        Which autoscaling is registered; "" for none.
    took : float
        Seconds that the last creation took; 0 while unknown.
    former : tuple of str
        Who declared it before, in the same stack.
    state, reason, next_action, next_at : str
        For people; ``next_at`` is a moment in UTC, or "".
    plan, more_plans : Mapping
        The declared plan as it was seen last; other plans by ARN.
    noticed : Mapping
        When people were told what, by its key.
    updated : float
        Epoch seconds of the last run.
    version : int
        Counts the writes.
    """

    name: str
    owner: str = ""
    declaration: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    desired: str = "present"
    overrides: Mapping[str, Any] = field(default_factory=dict)
    asked: Asked | None = None
    rolled_back: RolledBack | None = None
    calling: tuple[Calling, ...] = ()
    made: tuple[str, ...] = ()
    served: Mapping[str, str] = field(default_factory=dict)
    scaled: str = ""
    took: float = 0.0
    former: tuple[str, ...] = ()
    state: str = ""
    reason: str = ""
    next_action: str = ""
    next_at: str = ""
    plan: Mapping[str, Any] = field(default_factory=dict)
    more_plans: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    noticed: Mapping[str, float] = field(default_factory=dict)
    updated: float = 0.0
    version: int = 0

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EndpointItem:
        """Read a table's row."""
        known = {each.name: data[each.name] for each in fields(cls) if each.name in data}
        for name, kind in (("asked", Asked), ("rolled_back", RolledBack)):
            if known.get(name):
                known[name] = kind(**known[name])
        known["calling"] = tuple(Calling(**call) for call in known.get("calling", ()))
        known |= {name: tuple(known.get(name, ())) for name in ("former", "made")}
        return cls(**known)

    @property
    def owners(self) -> frozenset[str]:
        """Whose tag says that something is this item's."""
        return frozenset({self.owner, *self.former})

    def to_dict(self) -> dict[str, Any]:
        """Return the row."""
        row = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in ("asked", "rolled_back"):
            row[name] = asdict(row[name]) if row[name] else None
        return row | {"calling": [asdict(call) for call in self.calling]}

    @property
    def declared(self) -> EndpointDeclaration:
        """What was declared."""
        return EndpointDeclaration.of(self.declaration)

    def with_declaration(self, properties: Mapping[str, Any], digest: str) -> EndpointItem:
        """Return the item with a declaration; a new one drops what people set besides the old one."""
        same = digest == self.digest and self.desired == "present"
        owner = properties["Owner"]
        return replace(
            self,
            owner=owner,
            former=tuple({*self.former, self.owner} - {owner, ""}),
            declaration=properties,
            digest=digest,
            desired="present",
            overrides=self.overrides if same else {},
        )

    def with_override(self, **values: Any) -> EndpointItem:
        """Return the item with something set besides the declaration; ``None`` takes it back.

        Raises
        ------
        InvalidInputError
            If there is no such override, or the declaration does not say how.
        """
        for name, value in values.items():
            if name not in OVERRIDES:
                raise InvalidInputError(f"{name} cannot be set: use {', '.join(OVERRIDES)}")
            self._check(name, value)
        merged = {**self.overrides, **values}
        return replace(self, overrides={name: value for name, value in merged.items() if value is not None})

    def _check(self, name: str, value: Any) -> None:
        if value is None:
            return
        if name == "instance_count" and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise InvalidInputError(f"instance_count is {value!r}: a whole number of at least 1 is needed")
        if name == "on_expiry_now":
            declared = self.declared.on_expiry.action
            allowed = list(dict.fromkeys(["delete", declared])) if declared != "keep" else ["delete"]
            if value not in allowed:
                raise InvalidInputError(
                    f"on_expiry_now is {value!r}: the declaration says how to {' or '.join(allowed)}; declare another "
                    "on_expiry for anything else"
                )
