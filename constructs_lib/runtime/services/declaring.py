"""Declaring an endpoint: judged, written down, and left to the keeper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.model import InvalidInputError
from constructs_lib.model.endpoints_checks import refusal
from constructs_lib.model.endpoints_declaration import EndpointDeclaration
from constructs_lib.runtime.adapters.outcomes import words_of
from constructs_lib.runtime.typed import typed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.model.endpoints_rules import Decision
    from constructs_lib.runtime.adapters.keeper import Keeper
    from constructs_lib.runtime.services.keeper_means import KeeperMeans
    from constructs_lib.runtime.services.reconciling import Reconciling

__all__ = ["Declaring"]


@dataclass(frozen=True, slots=True)
class Declaring:
    """Writes down what an endpoint is to be.

    Parameters
    ----------
    means : KeeperMeans
    reconciling : Reconciling
    keeper : Keeper
        Is woken, not waited for.
    shapes : Mapping
        The API's shapes of ``EndpointConfig`` and ``PolicyConfig``.
    """

    means: KeeperMeans
    reconciling: Reconciling
    keeper: Keeper
    shapes: Mapping[str, Any]

    def declare(self, properties: Mapping[str, Any], *, judged: bool, starting: bool) -> Decision | None:
        """Write a declaration down and wake the keeper.

        Parameters
        ----------
        properties : Mapping
            As CloudFormation passes them.
        judged : bool
            Whether the plans are asked if they can carry it; a rollback is not judged.
        starting : bool
            Whether the endpoint is new.

        Returns
        -------
        Decision or None
            What the keeper will do first.

        Raises
        ------
        InvalidInputError
            Before anything is written or called: the declaration cannot work.
        """
        given = self._typed(properties)
        declared = EndpointDeclaration.of(given)
        if judged:
            self._judge(declared, starting=starting)
        self.means.table.change(declared.name, lambda item: item.with_declaration(given, declared.digest))
        decision = self._preview(declared.name)
        if reason := self.keeper.wake(declared.name):
            self.means.write(f"{declared.name}: {reason}")
        return decision

    def _preview(self, name: str) -> Decision | None:
        """Return what comes first; it is written down already, so not knowing it is no failure."""
        try:
            return self.reconciling.preview(name)
        except (BotoCoreError, ClientError) as error:
            self.means.write(f"{name}: its state could not be read ({words_of(error)})")
            return None

    def withdraw(self, name: str, owner: str) -> bool:
        """Write down that an endpoint is not wanted any more; return whether it was its owner's to say."""
        item = self.means.table.read(name)
        if item is None or item.owner != owner:
            return False
        self.means.table.change(
            name,
            lambda item: (
                replace(item, desired="absent", state="Deleting", reason="it is not declared any more")
                if item.owner == owner and item.desired != "absent"
                else item
            ),
        )
        return True

    def _typed(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        config, policy = self.shapes["EndpointConfig"], self.shapes["PolicyConfig"]
        given = dict(properties)
        if "EndpointConfig" in given:
            given["EndpointConfig"] = typed(given["EndpointConfig"], config, "EndpointConfig")
        expiry, scaling = given.get("OnExpiry"), given.get("Scaling")
        if isinstance(expiry, dict) and expiry.get("EndpointConfig"):
            moved = typed(expiry["EndpointConfig"], config, "OnExpiry.EndpointConfig")
            given["OnExpiry"] = expiry | {"EndpointConfig": moved}
        if isinstance(scaling, dict) and scaling.get("PolicyConfig"):
            read = typed(scaling["PolicyConfig"], policy, "Scaling.PolicyConfig")
            given["Scaling"] = scaling | {"PolicyConfig": read}
        return given

    def _judge(self, declared: EndpointDeclaration, *, starting: bool) -> None:
        """Refuse what a plan that is known cannot carry; what cannot be known is no error."""
        choice = declared.on_expiry
        for arn, request in ((declared.plan_arn, declared.config), (choice.plan_arn, choice.config)):
            if not arn or not request:
                continue
            plan = self.means.endpoints.plan(arn, None)
            if reason := refusal(declared, plan, request, starting=starting and arn == declared.plan_arn):
                raise InvalidInputError(f"endpoint {declared.name!r} cannot run on {arn}: {reason}")
