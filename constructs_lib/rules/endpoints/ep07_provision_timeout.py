"""The time to find capacity has bounds."""

from constructs_lib import facts
from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Severity,
    Subject,
    error,
    is_unresolved,
    rule,
    unverified,
)
from constructs_lib.rules.endpoints._common import variants_of
from constructs_lib.rules.values import number, show

_NAME = "VariantInstanceProvisionTimeoutInSeconds"


@rule(
    "GPU-EP07",
    title="VariantInstanceProvisionTimeoutInSeconds out of bounds",
    kinds=(Kind.ENDPOINT_CONFIG,),
    finds={Severity.ERROR: "a value outside 300 to 3600"},
    why="the API refuses the request; the time spans all pools together, not each",
    fix="give 5 to 60 minutes for all pools together",
    source="botocore: VariantInstanceProvisionTimeoutInSeconds",
)
def provision_timeout(subject: Subject, _app: App) -> Findings:
    """Compare with the model's bounds."""
    bounds = facts.limit(_NAME)
    allowed = f"{bounds.min} to {bounds.max} is allowed"
    for variant in variants_of(subject):
        given, at = variant.data.get(_NAME), f"{variant.at}.{_NAME}"
        seconds = number(given)
        if is_unresolved(given):
            yield unverified(f"{_NAME} is not known here; {allowed}", at)
        elif given is not None and (seconds is None or not (bounds.min or 0) <= seconds <= (bounds.max or 0)):
            yield error(f"{_NAME} is {show(given)}; {allowed}", at)
