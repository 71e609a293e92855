"""A list is documented for training and processing jobs only."""

from collections.abc import Iterator
from typing import Any

from constructs_lib.rules.authoring import (
    App,
    Carrier,
    Findings,
    Kind,
    Severity,
    Subject,
    is_unresolved,
    rule,
    unverified,
    warning,
)
from constructs_lib.rules.preferences._common import JOBS, resources_of

_ALTERNATIVE = {
    Kind.TUNING_JOB: "use HyperParameterTuningResourceConfig.InstanceConfigs with AllocationStrategy Prioritized",
    Kind.AUTO_ML_JOB: "give one instance type, and retry the AutoML job with another one yourself",
    Carrier.PIPELINE: "start the job from a Lambda or callback step of the pipeline",
    Carrier.BATCH: "submit one job a type to queues of their own, or launch the training job yourself",
}


@rule(
    "GPU-PL20",
    title="a preference list where none is documented",
    kinds=(*JOBS, Kind.TUNING_JOB, Kind.AUTO_ML_JOB),
    finds={Severity.WARNING: "a list inside tuning, AutoML, an AWS Batch payload or a pipeline step"},
    why="the shapes may let it pass, but no document says that these services take it; it may be refused or ignored",
    fix="use the mechanism that the service documents",
    source="SageMaker guide, train-instance-preferences; botocore: HyperParameterTuningResourceConfig",
)
def undocumented_place(subject: Subject, _app: App) -> Findings:
    """Look for a list anywhere inside such a request."""
    jobs = subject.kind in JOBS
    if jobs and subject.carrier not in (Carrier.PIPELINE, Carrier.BATCH):
        return
    fix = _ALTERNATIVE[subject.carrier if jobs else subject.kind]
    place = f"an AWS Batch or pipeline {subject.kind}" if jobs else f"a {subject.kind}"
    for at, value in _lists(subject.data, ""):
        if is_unresolved(value):
            yield unverified(f"whether {place} carries a preference list is not known here", at, fix=fix)
        else:
            yield warning(f"InstancePreferences inside {place} is not documented", at, fix=fix)
    if jobs and resources_of(subject)[0].unknown:
        yield unverified(f"whether {place} carries a preference list is not known here", fix=fix)


def _lists(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    """Yield every preference list, and every unresolved ResourceConfig that may hold one."""
    if isinstance(value, dict):
        for key, member in value.items():
            here = f"{at}.{key}" if at else str(key)
            if key == "InstancePreferences" or (key == "ResourceConfig" and is_unresolved(member)):
                yield here, member
            else:
                yield from _lists(member, here)
    elif isinstance(value, list | tuple):
        for i, member in enumerate(value):
            yield from _lists(member, f"{at}[{i}]")
