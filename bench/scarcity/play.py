"""One strategy played through one history in the sandbox's SageMaker, in this process and on virtual time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.scarcity.clock import START, SteppedClock
from bench.scarcity.histories import PATIENCE, WATCHED
from bench.scarcity.strategies import BEST, INSTANCES_PER_UNIT, PLAN_COUNT, PLAN_NAME
from constructs_lib.sandbox.context import ACCOUNT, Context
from constructs_lib.sandbox.faults import Faults
from constructs_lib.sandbox.sagemaker import Capacity, SageMaker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.scarcity.histories import Arrival, Spell
    from bench.scarcity.strategies import Step, Strategy

__all__ = ["Run", "document", "play"]

PLAN_ARN = f"arn:aws:sagemaker:us-east-1:{ACCOUNT}:training-plan/{PLAN_NAME}"
# What passes from one try's failure to the next create, for a script and a machine alike.
BETWEEN_TRIES = 30.0


@dataclass(frozen=True, slots=True)
class Run:
    """What became of one job.

    Parameters
    ----------
    waited
        Seconds from the job's arrival to its start; None if it never started.
    instance_type, count
        What it ran on.
    on_plan
        Whether that was the plan's.
    billed
        Seconds that its instances are billed for.
    calls
        How many jobs were created for it until one ran.
    """

    waited: float | None = None
    instance_type: str = ""
    count: int = 0
    on_plan: bool = False
    billed: float = 0
    calls: int = 0


def document(history: Mapping[str, Sequence[Spell]], jobs: Sequence[Arrival]) -> dict[str, Any]:
    """Return a history, the plan and the jobs' runtimes as a capacity file."""
    types = {
        name: [{"at": "0s", "free": 0}]
        + [
            {"at": f"{at:.3f}s", "free": free}
            for spell in rows
            for at, free in ((spell.start, spell.free), (spell.end, 0))
        ]
        for name, rows in history.items()
    }
    plan = {
        "name": PLAN_NAME,
        "instance_type": BEST,
        "count": PLAN_COUNT,
        "start": "0s",
        "end": f"{WATCHED}s",
        "target": "training-job",
    }
    overrides = {f"job-{i}-*": {"runtime": f"{job.runtime:.0f}s"} for i, job in enumerate(jobs)}
    return {"types": types, "plans": [plan], "job": {"overrides": overrides}}


def play(strategy: Strategy, history: Mapping[str, Sequence[Spell]], jobs: Sequence[Arrival]) -> list[Run]:
    """Return what becomes of each job; all of them compete for what the history has free."""
    week = _Week(strategy, Capacity.of(document(history, jobs)), jobs)
    week.clock.run(WATCHED)
    return week.runs()


@dataclass
class _Week:
    strategy: Strategy
    capacity: Capacity
    jobs: Sequence[Arrival]
    clock: SteppedClock = field(default_factory=SteppedClock)
    tries: dict[str, tuple[int, int, float]] = field(default_factory=dict)  # job, step, when its round began

    def __post_init__(self) -> None:
        faults = Faults()
        # A create that found nothing said so at once before there were lists and waiting; scripts are made for that.
        faults.switch("sagemaker.default-pending", "at-once")
        context = Context(self.clock, faults, self._heard, client=_no_client)
        self.sagemaker = SageMaker(context, self.capacity)
        for index, job in enumerate(self.jobs):
            at = START + job.at
            self.clock.call_at(at, lambda index=index, at=at: self._try(index, 0, at))

    def _try(self, index: int, step: int, began: float) -> None:
        name = f"job-{index}-{len(self.tries)}"
        self.tries[name] = (index, step, began)
        self.sagemaker.handle("CreateTrainingJob", _request(name, self.strategy.steps[step], self.jobs[index]))

    def _heard(self, _source: str, _kind: str, detail: dict[str, Any], _resources: list[str]) -> None:
        """Go on with the next step when a try found no capacity."""
        if detail["TrainingJobStatus"] != "Failed":
            return
        index, step, began = self.tries[detail["TrainingJobName"]]
        every, later = self.strategy.every, self.clock.now() + BETWEEN_TRIES
        if step + 1 < len(self.strategy.steps):
            self.clock.call_at(later, lambda: self._try(index, step + 1, began))
        elif every is not None and began + every < START + self.jobs[index].at + PATIENCE:
            again = began + every
            self.clock.call_at(again, lambda: self._try(index, 0, again))

    def runs(self) -> list[Run]:
        """Return what became of each job, in order of arrival."""
        tried: list[list[str]] = [[] for _ in self.jobs]
        for name, (index, _, _) in self.tries.items():
            tried[index].append(name)
        return [self._run(names, START + job.at) for names, job in zip(tried, self.jobs, strict=True)]

    def _run(self, names: Sequence[str], arrived: float) -> Run:
        shown = self.sagemaker.handle("DescribeTrainingJob", {"TrainingJobName": names[-1]})
        if shown["TrainingJobStatus"] == "Failed":
            return Run(calls=len(names))
        if shown["TrainingJobStatus"] != "Completed":
            raise RuntimeError(f"{names[-1]} is {shown['TrainingJobStatus']} when the time is over")
        return Run(
            waited=shown["TrainingStartTime"] - arrived,
            instance_type=shown["ResourceConfig"]["SelectedInstanceType"],
            count=shown["ResourceConfig"]["SelectedInstanceCount"],
            on_plan=self.sagemaker.evaluations(names[-1])[-1]["training_plan_arn"] is not None,
            billed=shown["BillableTimeInSeconds"],
            calls=len(names),
        )


def _request(name: str, step: Step, job: Arrival) -> dict[str, Any]:
    entries = []
    for instance_type in step.types:
        entry: dict[str, Any] = {
            "InstanceType": instance_type,
            "InstanceCount": job.units * INSTANCES_PER_UNIT[instance_type],
        }
        if instance_type == step.on_plan:
            entry["TrainingPlanArns"] = [PLAN_ARN]
        entries.append(entry)
    limits = {"MaxRuntimeInSeconds": 86400}
    if step.pending is not None:
        limits["MaxPendingTimeInSeconds"] = int(step.pending)
    return {
        "TrainingJobName": name,
        "AlgorithmSpecification": {"TrainingInputMode": "File", "TrainingImage": f"{ACCOUNT}.dkr.ecr/train:1"},
        "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/training",
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
        "ResourceConfig": {"InstancePreferences": entries},
        "StoppingCondition": limits,
    }


def _no_client(service: str) -> Any:
    raise RuntimeError(f"nothing here calls {service}")
