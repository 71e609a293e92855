"""The one definition of a processing job's fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model.errors import InvalidInputError
from constructs_lib.model.fields import check_lists, deep_merge, given, whole_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from constructs_lib.model.preferences import InstancePreference

__all__ = ["ProcessingInput", "ProcessingJobSpec", "ProcessingOutput"]

_INPUT_ROOT = "/opt/ml/processing/input"
_OUTPUT_ROOT = "/opt/ml/processing/output"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessingInput:
    """One named input of a processing job, read from S3.

    Parameters
    ----------
    s3_uri : str
        A prefix, or a manifest, as ``data_type`` says.
    local_path : str, optional
        Where the container finds it; ``/opt/ml/processing/input/<name>`` by default.
    data_type : str
        ``S3Prefix`` (default) or ``ManifestFile``.
    input_mode : str
        ``File`` (default) or ``Pipe``.
    distribution, compression : str, optional
        As CreateProcessingJob takes them; left out of the request when not given.

    Examples
    --------
    >>> ProcessingInput(s3_uri="s3://bucket/raw").to_request("raw")["S3Input"]["LocalPath"]
    '/opt/ml/processing/input/raw'
    """

    s3_uri: str
    local_path: str | None = None
    data_type: str = "S3Prefix"
    input_mode: str = "File"
    distribution: str | None = None
    compression: str | None = None

    def to_request(self, name: str) -> dict[str, Any]:
        """Return the input as ``ProcessingInputs`` takes it."""
        source = {
            "S3Uri": self.s3_uri,
            "LocalPath": self.local_path or f"{_INPUT_ROOT}/{name}",
            "S3DataType": self.data_type,
            "S3InputMode": self.input_mode,
            "S3DataDistributionType": self.distribution,
            "S3CompressionType": self.compression,
        }
        return {"InputName": name, "S3Input": given(source)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessingOutput:
    """One named output of a processing job, written to S3.

    Parameters
    ----------
    s3_uri : str
        The prefix that it is written to.
    local_path : str, optional
        Where the container leaves it; ``/opt/ml/processing/output/<name>`` by default.
    upload_mode : str
        ``EndOfJob`` (default) or ``Continuous``.

    Examples
    --------
    >>> ProcessingOutput(s3_uri="s3://bucket/clean").to_request("clean")["S3Output"]["S3UploadMode"]
    'EndOfJob'
    """

    s3_uri: str
    local_path: str | None = None
    upload_mode: str = "EndOfJob"

    def to_request(self, name: str) -> dict[str, Any]:
        """Return the output as ``ProcessingOutputConfig.Outputs`` takes it."""
        target = {
            "S3Uri": self.s3_uri,
            "LocalPath": self.local_path or f"{_OUTPUT_ROOT}/{name}",
            "S3UploadMode": self.upload_mode,
        }
        return {"OutputName": name, "S3Output": target}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessingJobSpec:
    """A processing job that may run on any of an ordered list of instance types.

    Parameters
    ----------
    name : str
        A name for people; the job's own name is made at launch.
    preferences : sequence of InstancePreference
        1 to 5 acceptable types, best first, none with a plan: processing has no reserved capacity.
    image : str
        The container's URI.
    volume_size_gb : int
        Size of the volume, at most that of the smallest local disk in the list.
    max_runtime : timedelta or seconds
        The job is stopped when it has run this long, up to 9 days.
    max_pending : timedelta or seconds, optional
        The launcher stops the job if it has not started by then; SageMaker has no such limit for processing.
    role_arn : str, optional
        The job's execution role; a construct fills in its kit's shared role when it is left out.
    instance_count : int, optional
        One count for every entry, instead of a count on each.
    inputs : mapping of str to str or ProcessingInput, optional
        Input name to ``s3://`` prefix or full input.
    outputs : mapping of str to str or ProcessingOutput, optional
        Output name to ``s3://`` prefix or full output.
    environment, tags : mapping of str to str, optional
        As CreateProcessingJob takes them.
    volume_kms_key, output_kms_key : str, optional
        Key ids or ARNs. Types with local storage refuse a volume key.
    subnets, security_groups : sequence of str, optional
        The job's VPC configuration; give both or none.
    network_isolation, encrypt_inter_container_traffic : bool, optional
        Off by default, as in SageMaker.
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
    >>> from constructs_lib.model import InstancePreference
    >>> spec = ProcessingJobSpec(
    ...     name="clean", image="111122223333.dkr.ecr.us-east-1.amazonaws.com/x:1", volume_size_gb=100,
    ...     preferences=[InstancePreference("ml.g6.12xlarge"), InstancePreference("ml.g5.12xlarge")],
    ...     instance_count=1, max_runtime=3600)
    >>> spec.to_request()["ProcessingResources"]["ClusterConfig"]["InstancePreferences"]
    [{'InstanceType': 'ml.g6.12xlarge'}, {'InstanceType': 'ml.g5.12xlarge'}]

    Notes
    -----
    Source: API_CreateProcessingJob, botocore shape ``CreateProcessingJobRequest``.
    """

    name: str
    preferences: Sequence[InstancePreference]
    image: str
    volume_size_gb: int | None
    max_runtime: timedelta | float
    max_pending: timedelta | float | None = None
    role_arn: str | None = None
    instance_count: int | None = None
    inputs: Mapping[str, str | ProcessingInput] = field(default_factory=dict)
    outputs: Mapping[str, str | ProcessingOutput] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    volume_kms_key: str | None = None
    output_kms_key: str | None = None
    subnets: Sequence[str] = ()
    security_groups: Sequence[str] = ()
    network_isolation: bool = False
    encrypt_inter_container_traffic: bool = False
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
        if bool(self.subnets) != bool(self.security_groups):
            raise InvalidInputError(f"{self.name}: subnets and security_groups go together, one was given")
        if self.output_kms_key and not self.outputs:
            raise InvalidInputError(f"{self.name}: output_kms_key is given and there are no outputs to encrypt")

    def to_request(self) -> dict[str, Any]:
        """Return the CreateProcessingJob request without ``ProcessingJobName``, which is made at launch."""
        network = {
            "EnableNetworkIsolation": self.network_isolation or None,
            "EnableInterContainerTrafficEncryption": self.encrypt_inter_container_traffic or None,
            "VpcConfig": given({"Subnets": list(self.subnets), "SecurityGroupIds": list(self.security_groups)}),
        }
        request = {
            "AppSpecification": given(
                {
                    "ImageUri": self.image,
                    "ContainerEntrypoint": list(self.entrypoint),
                    "ContainerArguments": list(self.arguments),
                }
            ),
            "RoleArn": self.role_arn,
            "Environment": dict(self.environment),
            "ProcessingInputs": [
                (ProcessingInput(s3_uri=one) if isinstance(one, str) else one).to_request(name)
                for name, one in self.inputs.items()
            ],
            "ProcessingOutputConfig": self._outputs(),
            "ProcessingResources": {"ClusterConfig": self._cluster()},
            "StoppingCondition": {"MaxRuntimeInSeconds": whole_seconds(self.max_runtime)},
            "NetworkConfig": given(network),
            "Tags": [{"Key": key, "Value": value} for key, value in self.tags.items()],
        }
        return deep_merge(given(request), self.request_overrides)

    def _outputs(self) -> dict[str, Any]:
        outputs = [
            (ProcessingOutput(s3_uri=one) if isinstance(one, str) else one).to_request(name)
            for name, one in self.outputs.items()
        ]
        return given({"Outputs": outputs, "KmsKeyId": self.output_kms_key})

    def _cluster(self) -> dict[str, Any]:
        cluster = {
            "InstanceCount": self.instance_count,
            "VolumeSizeInGB": self.volume_size_gb,
            "VolumeKmsKeyId": self.volume_kms_key,
        }
        return given(cluster) | {"InstancePreferences": [entry.to_request() for entry in self.preferences]}
