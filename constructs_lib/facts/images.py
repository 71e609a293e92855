"""What an image's name says about its platform, and which CUDA toolkits have code for which device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from constructs_lib.facts import load

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CudaSupport", "ImagePattern", "cuda_support", "image_patterns"]


@dataclass(frozen=True, slots=True)
class ImagePattern:
    """A regular expression over ``repository:tag`` and what it says: an accelerator, an architecture, or neither."""

    pattern: str
    source: str
    accelerator: str | None = None
    architecture: str | None = None


@dataclass(frozen=True, slots=True)
class CudaSupport:
    """The first CUDA toolkit with native code for a device, and the first one without."""

    accelerator: str
    capability: str
    native_from: str
    removed_in: str | None
    source: str


@cache
def image_patterns() -> tuple[ImagePattern, ...]:
    """Return the patterns of AWS's own image names."""
    return tuple(ImagePattern(**row) for row in load("image_platforms")["rows"])


@cache
def cuda_support() -> Mapping[str, CudaSupport]:
    """Return what is known of each NVIDIA device, by the name that `Accelerator` gives it."""
    return MappingProxyType({row["accelerator"]: CudaSupport(**row) for row in load("cuda_support")["rows"]})
