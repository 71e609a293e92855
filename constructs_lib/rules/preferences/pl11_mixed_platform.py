"""One image cannot run on two platforms."""

from collections.abc import Iterator

from constructs_lib.rules.authoring import App, Findings, Severity, Subject, error, rule, unverified, warning
from constructs_lib.rules.preferences._common import LISTS, Entry, Resources, names, resources_of
from constructs_lib.rules.preferences._image import IMAGE_AT, platform_of


@rule(
    "GPU-PL11",
    title="two platforms in one list",
    kinds=LISTS,
    finds={
        Severity.ERROR: "arm64 with x86_64, or GPU with Neuron, and the image's platform is known from AWS's name or "
        "declared",
        Severity.WARNING: "the same with an image that says nothing",
    },
    why="one image serves every entry, AWS compares nothing but capacity, and the job fails once the wrong type wins",
    fix="keep the types of the image's platform, and launch the others as a second step with their own image",
    source="moto: architecture and accelerators of each type; SageMaker guide, train-instance-preferences",
    suppresses=("GPU-PL12",),
)
def mixed_platform(subject: Subject, app: App) -> Findings:
    """Compare architecture and accelerator kind over each list."""
    known = subject.kind in IMAGE_AT and platform_of(subject, app).known
    for resources in resources_of(subject):
        for entries in _sharing_an_image(resources):
            words = list(_mixtures(entries))
            for mixture in words:
                yield (error if known else warning)(
                    f"the list mixes {mixture}, and one image serves all", resources.list_at
                )
            if not words and len(entries) > 1 and any(e.accelerated is None for e in entries):
                yield unverified("whether all types have one platform is not known here", resources.list_at)
        if resources.unknown:
            yield unverified("whether all types have one platform is not known here", resources.list_at)


def _sharing_an_image(resources: Resources) -> list[list[Entry]]:
    """Group the entries of a list: a pool with a ModelNameOverride brings its own image."""
    if not resources.listed:
        return []
    if resources.api != "endpoint":
        return [list(resources.entries)]
    groups: dict[str, list[Entry]] = {}
    for entry in resources.entries:
        groups.setdefault(repr(entry.data.get("ModelNameOverride")), []).append(entry)
    return list(groups.values())


def _mixtures(entries: list[Entry]) -> Iterator[str]:
    for trait in (_architecture, _kind):
        different = {trait(entry) for entry in entries} - {None}
        if len(different) > 1:
            sides = (
                (side, names(entry for entry in entries if trait(entry) == side)) for side in sorted(different, key=str)
            )
            yield " with ".join(f"{side} ({types})" for side, types in sides)


def _architecture(entry: Entry) -> str | None:
    return entry.facts.architecture


def _kind(entry: Entry) -> str | None:
    return entry.facts.accelerator.kind if entry.facts.accelerator else None
