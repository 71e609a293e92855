"""Pools replace the single type."""

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
from constructs_lib.rules.endpoints._common import Variant, variants_of
from constructs_lib.rules.values import present, show


@rule(
    "GPU-EP02",
    title="instance pools that exclude something else, or each other",
    kinds=(Kind.ENDPOINT_CONFIG,),
    finds={
        Severity.ERROR: "InstanceType beside InstancePools; pools of several types on a plan",
        Severity.WARNING: "a pool type or priority twice: not documented",
    },
    why="the API refuses two ways to name a type, and a plan has one type only",
    fix="keep the pools, each with its own type and priority, or the single type; on a plan use its one type",
    source="botocore: ProductionVariant.InstancePools; SageMaker guide, realtime-endpoints-heterogeneous",
)
def pools(subject: Subject, _app: App) -> Findings:
    """Judge each variant with pools."""
    for variant in variants_of(subject):
        at, raw = f"{variant.at}.InstancePools", variant.data.get("InstancePools")
        if variant.unknown or is_unresolved(raw):
            yield unverified("the instance pools are not known here", at)
        elif raw is not None:
            yield from _beside(variant, at)
            yield from _twice(variant, at)


def _beside(variant: Variant, at: str) -> Findings:
    given = present(variant.data, "InstanceType")
    if given is None:
        yield unverified("a condition decides whether InstanceType is given beside InstancePools", at)
    elif given:
        yield error("InstanceType and InstancePools exclude each other", f"{variant.at}.InstanceType")
    types = {repr(pool.get("InstanceType")) for pool in variant.pools}
    if variant.reserved.get("MlReservationArn") is not None and len(types) > 1:
        if None in variant.types:
            yield unverified("whether all pools have the plan's type is not known here", at)
        else:
            yield error(f"pools of several types ({', '.join(map(str, variant.types))}) stand on one plan", at)


def _twice(variant: Variant, at: str) -> Findings:
    for key in ("InstanceType", "Priority"):
        seen: list[object] = []
        for i, pool in enumerate(variant.pools):
            value = pool.get(key)
            if value is not None and value in seen:
                words = f"two pools have {key} {show(value)}; how they are told apart is unknown"
                yield warning(words, f"{at}[{i}].{key}")
            elif is_unresolved(value) and len(variant.pools) > 1:
                yield unverified(f"a pool's {key} is not known here; no two should share one", f"{at}[{i}].{key}")
            seen.append(value)
