"""Three ways to name acceptable instance types, each as one job of a research team."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk import Acknowledgment, CfnOutput, Duration, Size, Stack, Validations

from constructs_lib import InstancePreference, PreferenceTrainingJob

if TYPE_CHECKING:
    from constructs import Construct

    from constructs_lib import Settings

__all__ = ["ResearchStack"]


class ResearchStack(Stack):
    """A stack with a machine for each shape; start an execution to run the job.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    settings : Settings
        ``image`` and ``data`` are needed; the job on reserved capacity is there if ``training_plan_arn`` is.
    **stack_props
        As `aws_cdk.Stack` takes them.
    """

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings, **stack_props: Any) -> None:
        super().__init__(scope, construct_id, **stack_props)
        if not (settings.image and settings.data):
            raise ValueError("context: set @gpu-capacity/image and @gpu-capacity/data, in cdk.json or with cdk -c")
        self._image, self._data = settings.image, settings.data
        # Warnings of the rules that are meant as they are: said once, with a reason, and kept in every report.
        accepted = {
            "GPU-PL12": "the batches fit into 40 GiB, the least of the list",
            "GPU-PL24": "the next run follows within the hour, and starts on the instances that are still there",
        }
        notes = [Acknowledgment(id=f"GpuCapacity::{rule}", reason=reason) for rule, reason in accepted.items()]
        Validations.of(self).acknowledge(*notes)
        self.shared_count = self._shared_count()
        self.count_per_type = self._count_per_type()
        self.reserved_first = self._reserved_first(settings.training_plan_arn) if settings.training_plan_arn else None
        for job in filter(None, (self.shared_count, self.count_per_type, self.reserved_first)):
            CfnOutput(self, f"{job.node.id}Machine", value=job.attr_arn)

    def _shared_count(self) -> PreferenceTrainingJob:
        """Take eight instances of whichever 8-GPU type is free first, and an hour of warm pool for the next run."""
        return PreferenceTrainingJob(
            self,
            "SharedCount",
            preferences=[
                InstancePreference("ml.p5.48xlarge"),
                InstancePreference("ml.p4d.24xlarge"),
                InstancePreference("ml.p4de.24xlarge"),
            ],
            instance_count=8,
            volume_size_gb=Size.gibibytes(500),
            keep_alive=Duration.hours(1),
            max_pending=Duration.hours(2),
            **self._common("shared-count"),
        )

    def _count_per_type(self) -> PreferenceTrainingJob:
        """Take two large nodes, or four of the generation before: a count for each type."""
        return PreferenceTrainingJob(
            self,
            "CountPerType",
            preferences=[
                InstancePreference("ml.g6.48xlarge", instance_count=2),
                InstancePreference("ml.g5.48xlarge", instance_count=4),
            ],
            volume_size_gb=Size.gibibytes(500),
            max_pending=Duration.hours(1),
            **self._common("count-per-type"),
        )

    def _reserved_first(self, training_plan_arn: str) -> PreferenceTrainingJob:
        """Use the reserved p5 if the plan has them free now, else what is free on demand."""
        return PreferenceTrainingJob(
            self,
            "ReservedFirst",
            preferences=[
                InstancePreference("ml.p5.48xlarge", training_plan=training_plan_arn, reason="paid for upfront"),
                InstancePreference("ml.p4d.24xlarge"),
                InstancePreference("ml.p4de.24xlarge"),
            ],
            instance_count=4,
            max_pending=Duration.hours(12),
            **self._common("reserved-first"),
        )

    def _common(self, name: str) -> dict[str, Any]:
        return {
            "image": self._image,
            "inputs": {"train": f"{self._data}/train"},
            "output": f"{self._data}/models/{name}",
            "checkpoint": f"{self._data}/checkpoints/{name}",
            "max_runtime": Duration.hours(24),
        }
