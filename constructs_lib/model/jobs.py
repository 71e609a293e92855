"""The one definition of a training job's fields; constructs, fleets and launchers build requests from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model.errors import InvalidInputError
from constructs_lib.model.fields import check_lists, deep_merge, given, whole_seconds
from constructs_lib.model.preferences import plan_arn_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from constructs_lib.model.preferences import HasTrainingPlanArn, InstancePreference

__all__ = ["InputChannel", "TrainingJobSpec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputChannel:
    """One named input of a training job, read from S3.

    Parameters
    ----------
    s3_uri : str
        A prefix, or a manifest, as ``data_type`` says.
    data_type : str, optional
        ``S3Prefix`` (default), ``ManifestFile`` or ``AugmentedManifestFile``.
    distribution : str, optional
        ``FullyReplicated`` (default) or ``ShardedByS3Key``.
    content_type, input_mode, compression, record_wrapper : str, optional
        As CreateTrainingJob takes them; left out of the request when not given.

    Examples
    --------
    >>> InputChannel(s3_uri="s3://bucket/train").to_request("train")["ChannelName"]
    'train'
    """

    s3_uri: str
    data_type: str = "S3Prefix"
    distribution: str = "FullyReplicated"
    content_type: str | None = None
    input_mode: str | None = None
    compression: str | None = None
    record_wrapper: str | None = None

    def to_request(self, name: str) -> dict[str, Any]:
        """Return the channel as ``InputDataConfig`` takes it."""
        source = {"S3DataType": self.data_type, "S3Uri": self.s3_uri, "S3DataDistributionType": self.distribution}
        channel = {
            "ChannelName": name,
            "DataSource": {"S3DataSource": source},
            "ContentType": self.content_type,
            "InputMode": self.input_mode,
            "CompressionType": self.compression,
            "RecordWrapperType": self.record_wrapper,
        }
        return given(channel)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJobSpec:
    """A training job that may run on any of an ordered list of instance types.

    Parameters
    ----------
    name : str
        A name for people; the job's own name is made at launch, see `job_name`.
    preferences : sequence of InstancePreference
        1 to 5 acceptable types, best first.
    image : str, optional
        The training image's URI. Give it or ``algorithm_name``.
    algorithm_name : str, optional
        A SageMaker algorithm's name or ARN.
    output : str
        ``s3://`` prefix for the model artifacts.
    max_runtime : timedelta
        The job is stopped when it has run this long.
    max_pending : timedelta, optional
        Bounds the wait for capacity over the whole list, 30 minutes to 28 days. Without it SageMaker's default wait
        applies, which is not documented for on-demand lists. No effect on a list of CPU types, which never waits.
    role_arn : str, optional
        The job's execution role; a construct fills in its kit's shared role when it is left out.
    instance_count : int, optional
        One count for every entry, instead of a count on each.
    inputs : mapping of str to str or InputChannel, optional
        Channel name to ``s3://`` prefix or full channel.
    hyperparameters, environment, tags : mapping of str to str, optional
        As CreateTrainingJob takes them.
    input_mode : str, optional
        ``File`` (default), ``FastFile`` or ``Pipe``.
    volume_size_gb : int, optional
        Size of the EBS volume. Needed for types without local storage; types with local NVMe take no EBS volume.
    volume_kms_key, output_kms_key : str, optional
        Key ids or ARNs. Types with local storage refuse a volume key.
    keep_alive : timedelta, optional
        Keeps the instances as a warm pool after the job, billed, 0 s to 6 h.
    training_plan : HasTrainingPlanArn or str, optional
        A job-level plan, applied to the entry whose type matches. Excludes plans on entries.
    checkpoint : str, optional
        ``s3://`` prefix for checkpoints. Use it on reserved capacity: the plan's last 30 minutes are not usable.
    checkpoint_local_path : str, optional
        Where the container writes checkpoints; SageMaker's default is ``/opt/ml/checkpoints``.
    subnets, security_groups : sequence of str, optional
        The job's VPC configuration; give both or none.
    network_isolation, encrypt_inter_container_traffic : bool, optional
        Off by default, as in SageMaker.
    max_attempts : int, optional
        Retries by SageMaker itself on internal errors, 1 to 30; the runtime limit spans all attempts.
    entrypoint, arguments : sequence of str, optional
        Container entry point and arguments.
    request_overrides : mapping, optional
        Deep-merged into the request last: the way to fields that have no keyword here.

    Raises
    ------
    InvalidInputError
        For combinations that no request could express; the compatibility rules are checked by `constructs_lib.rules`.

    Examples
    --------
    >>> from datetime import timedelta
    >>> from constructs_lib.model import InstancePreference
    >>> spec = TrainingJobSpec(
    ...     name="tune", image="111122223333.dkr.ecr.us-east-1.amazonaws.com/x:1", output="s3://bucket/models",
    ...     preferences=[InstancePreference("ml.p5.48xlarge"), InstancePreference("ml.p4d.24xlarge")],
    ...     instance_count=8, max_runtime=timedelta(hours=60))
    >>> spec.to_request()["ResourceConfig"]["InstancePreferences"]
    [{'InstanceType': 'ml.p5.48xlarge'}, {'InstanceType': 'ml.p4d.24xlarge'}]

    Notes
    -----
    Source: API_CreateTrainingJob, botocore shape ``CreateTrainingJobRequest``.
    """

    name: str
    preferences: Sequence[InstancePreference]
    output: str
    max_runtime: timedelta | float
    image: str | None = None
    algorithm_name: str | None = None
    role_arn: str | None = None
    instance_count: int | None = None
    max_pending: timedelta | float | None = None
    inputs: Mapping[str, str | InputChannel] = field(default_factory=dict)
    hyperparameters: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    input_mode: str = "File"
    volume_size_gb: int | None = None
    volume_kms_key: str | None = None
    output_kms_key: str | None = None
    keep_alive: timedelta | float | None = None
    training_plan: HasTrainingPlanArn | str | None = None
    checkpoint: str | None = None
    checkpoint_local_path: str | None = None
    subnets: Sequence[str] = ()
    security_groups: Sequence[str] = ()
    network_isolation: bool = False
    encrypt_inter_container_traffic: bool = False
    max_attempts: int | None = None
    entrypoint: Sequence[str] = ()
    arguments: Sequence[str] = ()
    request_overrides: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_lists(
            preferences=self.preferences,
            subnets=self.subnets,
            security_groups=self.security_groups,
            entrypoint=self.entrypoint,
            arguments=self.arguments,
        )
        if (self.image is None) == (self.algorithm_name is None):
            which = "both were" if self.image else "neither was"
            raise InvalidInputError(f"{self.name}: give image or algorithm_name, {which} given")
        if bool(self.subnets) != bool(self.security_groups):
            raise InvalidInputError(f"{self.name}: subnets and security_groups go together, one was given")
        if self.checkpoint_local_path and not self.checkpoint:
            raise InvalidInputError(f"{self.name}: checkpoint_local_path needs checkpoint, the s3:// prefix to copy to")

    def to_request(self) -> dict[str, Any]:
        """Return the CreateTrainingJob request without ``TrainingJobName``, which is made at launch."""
        request = {
            "AlgorithmSpecification": self._algorithm(),
            "RoleArn": self.role_arn,
            "HyperParameters": dict(self.hyperparameters),
            "Environment": dict(self.environment),
            "InputDataConfig": [
                (InputChannel(s3_uri=channel) if isinstance(channel, str) else channel).to_request(name)
                for name, channel in self.inputs.items()
            ],
            "OutputDataConfig": given({"S3OutputPath": self.output, "KmsKeyId": self.output_kms_key}),
            "ResourceConfig": self._resources(),
            "StoppingCondition": given(
                {
                    "MaxRuntimeInSeconds": whole_seconds(self.max_runtime),
                    "MaxPendingTimeInSeconds": whole_seconds(self.max_pending),
                }
            ),
            "VpcConfig": given({"Subnets": list(self.subnets), "SecurityGroupIds": list(self.security_groups)}),
            "CheckpointConfig": given({"S3Uri": self.checkpoint, "LocalPath": self.checkpoint_local_path}),
            "EnableNetworkIsolation": self.network_isolation or None,
            "EnableInterContainerTrafficEncryption": self.encrypt_inter_container_traffic or None,
            "RetryStrategy": given({"MaximumRetryAttempts": self.max_attempts}),
            "Tags": [{"Key": key, "Value": value} for key, value in self.tags.items()],
        }
        return deep_merge(given(request), self.request_overrides)

    def reasons(self) -> list[str | None]:
        """Return why each entry stands where it does, in order."""
        return [entry.reason for entry in self.preferences]

    def _algorithm(self) -> dict[str, Any]:
        return given(
            {
                "TrainingImage": self.image,
                "AlgorithmName": self.algorithm_name,
                "TrainingInputMode": self.input_mode,
                "ContainerEntrypoint": list(self.entrypoint),
                "ContainerArguments": list(self.arguments),
            }
        )

    def _resources(self) -> dict[str, Any]:
        resources = {
            "InstanceCount": self.instance_count,
            "VolumeSizeInGB": self.volume_size_gb,
            "VolumeKmsKeyId": self.volume_kms_key,
            "KeepAlivePeriodInSeconds": whole_seconds(self.keep_alive),
            "TrainingPlanArn": plan_arn_of(self.training_plan),
        }
        return given(resources) | {"InstancePreferences": [entry.to_request() for entry in self.preferences]}
