"""A reservation is named by preference and ARN together."""

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
    warning,
)
from constructs_lib.rules.endpoints._common import variants_of
from constructs_lib.rules.values import UNKNOWN, arn, present, show

_PREFERENCE = "capacity-reservations-only"


@rule(
    "GPU-EP01",
    title="a capacity reservation half given",
    kinds=(Kind.ENDPOINT_CONFIG,),
    finds={
        Severity.ERROR: "a preference without an ARN, another preference, an ARN of a known other kind",
        Severity.WARNING: "an ARN without a preference: what happens when the plan ends is not documented",
    },
    why="the model lets each be left out; without both the variant is refused, or runs on other capacity than meant",
    fix="give CapacityReservationPreference 'capacity-reservations-only' and MlReservationArn, the plan's ARN",
    source="botocore: ProductionVariantCapacityReservationConfig, MlReservationArn",
)
def reservation_reference(subject: Subject, _app: App) -> Findings:
    """Judge the two members of each variant."""
    for variant in variants_of(subject):
        at = f"{variant.at}.CapacityReservationConfig"
        preference = variant.reserved.get("CapacityReservationPreference")
        named = present(variant.reserved, "MlReservationArn")
        if variant.unknown or named is None or is_unresolved(preference):
            yield unverified("the capacity reservation is not known here", at)
        elif preference is not None and preference != _PREFERENCE:
            yield error(f"CapacityReservationPreference is {show(preference)}; {_PREFERENCE!r} is allowed", at)
        elif preference is not None and not named:
            yield error("CapacityReservationPreference is given without MlReservationArn", at)
        elif named and preference is None:
            yield warning("MlReservationArn is given without CapacityReservationPreference", at)
        if named and not variant.unknown:
            yield from _kind(variant.reserved["MlReservationArn"], f"{at}.MlReservationArn")


def _kind(reference: object, at: str) -> Findings:
    """Judge the ARN's kind; an account or region that is not known does not matter."""
    parsed = arn(reference)
    if parsed is None and not is_unresolved(reference):
        yield error(f"MlReservationArn is {show(reference)}, which is no ARN", at)
        return
    what = (parsed.service, parsed.kind) if parsed else ("", "")
    if parsed and UNKNOWN not in parsed.service + parsed.kind and what != ("sagemaker", "training-plan"):
        yield error(f"MlReservationArn names a {parsed.service} {parsed.kind}; a training plan is needed", at)
