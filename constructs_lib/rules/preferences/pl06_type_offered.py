"""A type must exist for the API that is asked, and be sold in the region."""

from constructs_lib import facts
from constructs_lib.rules.authoring import (
    App,
    Findings,
    Severity,
    Subject,
    error,
    is_unresolved,
    rule,
    unverified,
    warning,
)
from constructs_lib.rules.preferences._common import LISTS, Entry, resources_of
from constructs_lib.rules.values import show


@rule(
    "GPU-PL06",
    title="a type that the API or the region does not have",
    kinds=LISTS,
    finds={
        Severity.ERROR: "a known type that is not in this API's enum, or an entry without a type",
        Severity.WARNING: "a type that AWS's price lists do not name for the stack's literal region",
        Severity.UNVERIFIED: "a type that nobody knows yet, or is not known here",
    },
    why="the API refuses the request: processing lacks p4d, p5.48xlarge and Trainium, training lacks Inferentia",
    fix="take a type that the API lists, or the API that lists the type",
    source="botocore: TrainingInstanceType, ProcessingInstanceType, ProductionVariantInstanceType; "
    "cfn-lint: AWS price lists by region",
)
def type_offered(subject: Subject, _app: App) -> Findings:
    """Look each type up."""
    for resources in resources_of(subject):
        if resources.unknown:
            yield unverified("the instance types are not known here", resources.list_at)
        for entry in resources.entries:
            yield from _judge(entry, resources.api, subject.region)


def _judge(entry: Entry, api: str, region: str | None) -> Findings:
    given, at = entry.data.get("InstanceType"), f"{entry.at}.InstanceType"
    if is_unresolved(given):
        yield unverified("the instance type is not known here", at)
    elif entry.type is None or not entry.type.startswith("ml."):
        yield error(f"InstanceType is {show(given)}; a type such as 'ml.g5.xlarge' is needed", at)
    elif not entry.known:
        yield unverified(f"nobody knows {entry.type} yet; the types known here are of botocore's model", at)
    elif api not in entry.facts.apis:
        yield error(f"{entry.type} is not offered for {api}; it is for {', '.join(sorted(entry.facts.apis))}", at)
    elif region and _absent(entry.type, api, region):
        yield warning(f"{entry.type} is not in AWS's price list for {api} in {region}", at)


def _absent(name: str, api: str, region: str) -> bool:
    """Tell whether the lists name the type elsewhere only; a type or region that they do not have tells nothing."""
    listed = facts.regional_types(api)
    return name in listed and region not in listed[name] and any(region in regions for regions in listed.values())
