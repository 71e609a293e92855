"""What the runtime needs of AWS and of time: the client methods it calls, as typing protocols."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = [
    "Clock",
    "CloudFormationClient",
    "DynamoDBClient",
    "EventsClient",
    "PlansClient",
    "PurchaseTableClient",
    "QuotasClient",
    "SNSClient",
    "SageMakerClient",
    "StepFunctionsClient",
    "SubnetsClient",
    "Writer",
]

Answer = dict[str, Any]


class Clock(Protocol):
    """Time; the `time` module is one, read at call time so that a sandbox can replace its functions."""

    def time(self) -> float:
        """Return epoch seconds."""
        ...

    def sleep(self, seconds: float, /) -> None:
        """Wait."""
        ...


class Writer(Protocol):
    """Where log lines go, one call a line."""

    def __call__(self, line: str, /) -> None:
        """Write one line."""
        ...


class SageMakerClient(Protocol):
    """A botocore client of SageMaker, as far as it is used."""

    def create_training_job(self, **request: Any) -> Answer:
        """CreateTrainingJob."""
        ...

    def describe_training_job(self, **request: Any) -> Answer:
        """DescribeTrainingJob."""
        ...

    def stop_training_job(self, **request: Any) -> Answer:
        """StopTrainingJob."""
        ...

    def create_processing_job(self, **request: Any) -> Answer:
        """CreateProcessingJob."""
        ...

    def describe_processing_job(self, **request: Any) -> Answer:
        """DescribeProcessingJob."""
        ...

    def stop_processing_job(self, **request: Any) -> Answer:
        """StopProcessingJob."""
        ...

    def create_hyper_parameter_tuning_job(self, **request: Any) -> Answer:
        """CreateHyperParameterTuningJob."""
        ...

    def describe_hyper_parameter_tuning_job(self, **request: Any) -> Answer:
        """DescribeHyperParameterTuningJob."""
        ...

    def stop_hyper_parameter_tuning_job(self, **request: Any) -> Answer:
        """StopHyperParameterTuningJob."""
        ...

    def list_training_jobs_for_hyper_parameter_tuning_job(self, **request: Any) -> Answer:
        """ListTrainingJobsForHyperParameterTuningJob."""
        ...

    def describe_training_plan(self, **request: Any) -> Answer:
        """DescribeTrainingPlan."""
        ...

    def list_tags(self, **request: Any) -> Answer:
        """ListTags."""
        ...


class QuotasClient(Protocol):
    """A botocore client of Service Quotas, as far as it is used."""

    def list_service_quotas(self, **request: Any) -> Answer:
        """ListServiceQuotas."""
        ...


class SubnetsClient(Protocol):
    """A botocore client of EC2, as far as subnets are looked up with it."""

    def describe_subnets(self, **request: Any) -> Answer:
        """DescribeSubnets."""
        ...


class StepFunctionsClient(Protocol):
    """A botocore client of Step Functions, as far as it is used."""

    def start_execution(self, **request: Any) -> Answer:
        """StartExecution."""
        ...

    def describe_execution(self, **request: Any) -> Answer:
        """DescribeExecution."""
        ...

    def send_task_success(self, **request: Any) -> Answer:
        """SendTaskSuccess."""
        ...

    def send_task_failure(self, **request: Any) -> Answer:
        """SendTaskFailure."""
        ...


class DynamoDBClient(Protocol):
    """A botocore client of DynamoDB, as far as it is used."""

    def get_item(self, **request: Any) -> Answer:
        """GetItem."""
        ...

    def put_item(self, **request: Any) -> Answer:
        """PutItem."""
        ...

    def update_item(self, **request: Any) -> Answer:
        """UpdateItem."""
        ...

    def delete_item(self, **request: Any) -> Answer:
        """DeleteItem."""
        ...

    def query(self, **request: Any) -> Answer:
        """Query."""
        ...

    def scan(self, **request: Any) -> Answer:
        """Scan."""
        ...


class PlansClient(Protocol):
    """A botocore client of SageMaker, as far as plans are bought and watched with it."""

    def describe_training_plan(self, **request: Any) -> Answer:
        """DescribeTrainingPlan."""
        ...

    def search_training_plan_offerings(self, **request: Any) -> Answer:
        """SearchTrainingPlanOfferings."""
        ...

    def create_training_plan(self, **request: Any) -> Answer:
        """CreateTrainingPlan."""
        ...

    def extend_training_plan(self, **request: Any) -> Answer:
        """ExtendTrainingPlan."""
        ...

    def describe_training_plan_extension_history(self, **request: Any) -> Answer:
        """DescribeTrainingPlanExtensionHistory."""
        ...

    def list_tags(self, **request: Any) -> Answer:
        """ListTags."""
        ...

    def add_tags(self, **request: Any) -> Answer:
        """AddTags."""
        ...


class PurchaseTableClient(Protocol):
    """A botocore client of DynamoDB, as far as purchases are remembered with it."""

    def get_item(self, **request: Any) -> Answer:
        """GetItem."""
        ...

    def update_item(self, **request: Any) -> Answer:
        """UpdateItem."""
        ...

    def scan(self, **request: Any) -> Answer:
        """Scan."""
        ...

    def create_table(self, **request: Any) -> Answer:
        """CreateTable."""
        ...

    def update_continuous_backups(self, **request: Any) -> Answer:
        """UpdateContinuousBackups."""
        ...


class CloudFormationClient(Protocol):
    """A botocore client of CloudFormation, as far as it is used."""

    def describe_stacks(self, **request: Any) -> Answer:
        """DescribeStacks."""
        ...


class SNSClient(Protocol):
    """A botocore client of SNS, as far as it is used."""

    def publish(self, **request: Any) -> Answer:
        """Publish."""
        ...


class EventsClient(Protocol):
    """A botocore client of EventBridge, as far as it is used."""

    def put_events(self, **request: Any) -> Answer:
        """PutEvents."""
        ...
