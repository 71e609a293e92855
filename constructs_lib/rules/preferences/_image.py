"""What is known of the platform that a job's image is built for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from constructs_lib.facts.images import image_patterns
from constructs_lib.rules.subjects import Kind
from constructs_lib.rules.values import UNKNOWN, known_text, mapping, text

if TYPE_CHECKING:
    from constructs_lib.rules.subjects import App, Subject

__all__ = ["IMAGE_AT", "Platform", "platform_of"]

IMAGE_AT = {
    Kind.TRAINING_JOB: "AlgorithmSpecification.TrainingImage",
    Kind.PROCESSING_JOB: "AppSpecification.ImageUri",
}


@dataclass(frozen=True, slots=True)
class Platform:
    """An image's platform: ``accelerator`` is ``gpu``, ``neuron`` or ``none``; a part that is not known is ``None``."""

    architecture: str | None = None
    accelerator: str | None = None
    cuda: tuple[int, int] | None = None

    @property
    def known(self) -> bool:
        """Whether anything is known; otherwise the image is opaque."""
        return bool(self.architecture or self.accelerator or self.cuda)


def platform_of(subject: Subject, app: App) -> Platform:
    """Return what is declared of the image, else what its name says."""
    said = mapping(app.declared(subject, "image"))
    if said:
        architecture, accelerator = (known_text(said.get(key)) for key in ("architecture", "accelerator"))
        return Platform(architecture, accelerator, _version(said.get("cuda")))
    member, name = IMAGE_AT[subject.kind].split(".")
    return _from_name((text(mapping(subject.data.get(member)).get(name)) or "").lower())


@cache
def _from_name(image: str) -> Platform:
    name = image.rsplit("/", 1)[-1]
    if not name or UNKNOWN in name:
        return Platform()
    said: dict[str, str] = {}
    for pattern in image_patterns():
        if re.search(pattern.pattern, name):
            for key in ("architecture", "accelerator"):
                if getattr(pattern, key):
                    said.setdefault(key, getattr(pattern, key))
    toolkit = re.search(r":[^:]*-cu(\d\d)(\d)(?:-|$)", name)
    cuda = (int(toolkit[1]), int(toolkit[2])) if toolkit else None
    return Platform(said.get("architecture"), said.get("accelerator"), cuda)


def _version(value: Any) -> tuple[int, int] | None:
    match = re.fullmatch(r"(\d+)\.(\d+).*", str(value))
    return (int(match[1]), int(match[2])) if match else None
