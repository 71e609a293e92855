"""An image must fit the types."""

from functools import cache

from constructs_lib.facts.images import cuda_support
from constructs_lib.rules.authoring import App, Findings, Severity, Subject, error, rule, unverified, warning
from constructs_lib.rules.preferences._common import JOBS, Entry, resources_of
from constructs_lib.rules.preferences._image import IMAGE_AT, Platform, platform_of


@rule(
    "GPU-PL19",
    title="an image that does not fit a type",
    kinds=JOBS,
    finds={
        Severity.ERROR: "another architecture, Neuron on GPU or the reverse, a CUDA without code for the device",
        Severity.WARNING: "a CUDA older than the device (only code with PTX runs), or a CPU image on accelerators",
        Severity.UNVERIFIED: "an image that says nothing of its platform",
    },
    why="AWS compares nothing but capacity: the job starts, is billed, and fails in the container",
    fix="use an image for the type's platform, or a type for the image's; declare image for one of your own",
    source="https://docs.nvidia.com/cuda/blackwell-compatibility-guide and its sisters; "
    "https://github.com/aws/deep-learning-containers; moto: architecture of each type",
)
def image_platform(subject: Subject, app: App) -> Findings:
    """Hold the image against each accelerated or foreign entry."""
    platform = platform_of(subject, app)
    for resources in resources_of(subject):
        if (resources.entries or resources.unknown) and not platform.known:
            yield unverified("the image's platform is not known here", IMAGE_AT[subject.kind])
        for entry in resources.entries if platform.known else ():
            yield from _judge(entry, platform)


def _judge(entry: Entry, platform: Platform) -> Findings:
    known, at = entry.facts, f"{entry.at}.InstanceType"
    if known.architecture is None:
        yield unverified(f"the hardware of {entry.type or 'an unknown type'} is not known here", at)
        return
    if platform.architecture and platform.architecture != known.architecture:
        yield error(f"the image is for {platform.architecture}, {entry.type} is {known.architecture}", at)
    kind = known.accelerator.kind if known.accelerator else "none"
    if platform.accelerator == "none" and kind != "none":
        yield warning(f"the image is for CPUs, {entry.type} has accelerators", at)
    elif platform.accelerator and "none" not in (kind, platform.accelerator) and platform.accelerator != kind:
        yield error(f"the image is for {platform.accelerator}, {entry.type} has {kind} devices", at)
    elif known.accelerator and platform.cuda:
        yield from _cuda(entry, known.accelerator.name, platform.cuda, at)


def _cuda(entry: Entry, device: str, cuda: tuple[int, int], at: str) -> Findings:
    support = cuda_support().get(device)
    given = f"the image has CUDA {cuda[0]}.{cuda[1]}"
    if support is None:
        yield unverified(f"{given}; which CUDA {device} needs is not known here", at)
    elif support.removed_in and cuda >= _version(support.removed_in):
        yield error(
            f"{given}, which has no code for {device} on {entry.type}; it was removed in {support.removed_in}", at
        )
    elif cuda < _version(support.native_from):
        yield warning(f"{given}; {device} on {entry.type} has native code from {support.native_from} on", at)


@cache
def _version(words: str) -> tuple[int, int]:
    major, minor = words.split(".")
    return int(major), int(minor)
