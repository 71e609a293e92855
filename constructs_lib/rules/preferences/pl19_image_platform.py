"""An image must fit the types."""

from collections.abc import Callable
from functools import cache

from constructs_lib import facts
from constructs_lib.facts.images import cuda_support
from constructs_lib.rules.authoring import App, Findings, Found, Severity, Subject, error, rule, unverified, warning
from constructs_lib.rules.preferences._common import JOBS, resources_of
from constructs_lib.rules.preferences._image import IMAGE_AT, Platform, platform_of

Verdict = tuple[Callable[[str, str], Found], str]


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
    """Hold the image against each entry."""
    platform = platform_of(subject, app)
    for resources in resources_of(subject):
        if (resources.entries or resources.unknown) and not platform.known:
            yield unverified("the image's platform is not known here", IMAGE_AT[subject.kind])
        for entry in resources.entries if platform.known else ():
            for judge, words in _verdicts(entry.type, platform):
                yield judge(words, f"{entry.at}.InstanceType")


@cache
def _verdicts(name: str | None, platform: Platform) -> tuple[Verdict, ...]:
    """Return what is wrong with one type on one platform; both come in few kinds, so each pair is judged once."""
    known = facts.instance_types().get(name or "")
    if known is None or known.architecture is None:
        return ((unverified, f"the hardware of {name or 'an unknown type'} is not known here"),)
    found: list[Verdict] = []
    if platform.architecture and platform.architecture != known.architecture:
        found.append((error, f"the image is for {platform.architecture}, {name} is {known.architecture}"))
    kind = known.accelerator.kind if known.accelerator else "none"
    if platform.accelerator == "none" and kind != "none":
        found.append((warning, f"the image is for CPUs, {name} has accelerators"))
    elif platform.accelerator and "none" not in (kind, platform.accelerator) and platform.accelerator != kind:
        found.append((error, f"the image is for {platform.accelerator}, {name} has {kind} devices"))
    elif known.accelerator and platform.cuda:
        found += _cuda(known, known.accelerator.name, platform.cuda)
    return tuple(found)


def _cuda(known: facts.InstanceType, device: str, cuda: tuple[int, int]) -> list[Verdict]:
    support, given = cuda_support().get(device), f"the image has CUDA {cuda[0]}.{cuda[1]}"
    if support is None:
        return [(unverified, f"{given}; which CUDA {device} needs is not known here")]
    if support.removed_in and cuda >= _version(support.removed_in):
        return [(error, f"{given}, which has no code for {device} on {known.name}: removed in {support.removed_in}")]
    if cuda < _version(support.native_from):
        return [(warning, f"{given}; {device} on {known.name} has native code from {support.native_from} on")]
    return []


def _version(words: str) -> tuple[int, int]:
    major, minor = words.split(".")
    return int(major), int(minor)
