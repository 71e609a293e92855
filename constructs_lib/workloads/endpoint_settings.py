"""What can be said of an endpoint's variants, and the CreateEndpointConfig request that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from constructs_lib.model import InvalidInputError, is_unresolved
from constructs_lib.model.fields import deep_merge
from constructs_lib.shared.cdk_values import gigabytes, key_arn, seconds

if TYPE_CHECKING:
    from aws_cdk import Size

    from constructs_lib.shared.cdk_values import Key, Time

__all__ = ["MAX_POOLS", "EndpointSettings", "config_request", "instance_pools", "whole_seconds"]

MAX_POOLS = 5


class EndpointSettings(TypedDict, total=False):
    """The settings of an endpoint's variants; what is left out is SageMaker's own default.

    Parameters
    ----------
    variant_name : str
        ``AllTraffic`` when left out.
    initial_weight : float
        The variant's share of the traffic.
    volume_size_gb : Size or int
        Of the EBS volume; types with local storage take none.
    model_download_timeout, startup_timeout : Duration, timedelta or seconds
        For fetching the model's data, and until the container is healthy; 60 s to 1 h.
    ssm_access : bool
        Whether the instances can be reached through Systems Manager.
    inference_ami_version : str
    routing : str
        How requests are spread over the instances, such as ``LEAST_OUTSTANDING_REQUESTS``.
    core_dump : str or mapping
        Where a container that crashes leaves its memory: an ``s3://`` prefix, or CoreDumpConfig as the API takes it.
    managed_instance_scaling : mapping
        ManagedInstanceScaling as the API takes it.
    kms_key : IKeyRef or str
        Encrypts the EBS volumes; local storage has its own key.
    data_capture : str or mapping
        Where requests and answers are kept, all of them: an ``s3://`` prefix; or DataCaptureConfig as the API takes it.
    async_inference : str or mapping
        Makes the endpoint asynchronous: where answers go, or AsyncInferenceConfig as the API takes it.
    shadow : mapping
        A shadow variant as the API takes it; ``ModelName`` and ``InitialInstanceCount`` are needed. It runs on the same
        capacity, besides the production variant.
    """

    variant_name: str
    initial_weight: float
    volume_size_gb: Size | int
    model_download_timeout: Time
    startup_timeout: Time
    ssm_access: bool
    inference_ami_version: str
    routing: str
    core_dump: str | Mapping[str, Any]
    managed_instance_scaling: Mapping[str, Any]
    kms_key: Key
    data_capture: str | Mapping[str, Any]
    async_inference: str | Mapping[str, Any]
    shadow: Mapping[str, Any]


def whole_seconds(prop: str, value: Time) -> int:
    """Return a time as whole seconds, or its number token.

    Raises
    ------
    InvalidInputError
        For what is no time.
    """
    given = seconds(prop, value)
    number = given.total_seconds() if isinstance(given, timedelta) else given
    if not isinstance(number, int | float) or isinstance(number, bool) or (not is_unresolved(number) and number < 0):
        raise InvalidInputError(f"{prop}: a Duration, timedelta or seconds are needed, {value!r} was given")
    return number if is_unresolved(number) else int(number)  # type: ignore[return-value]


def _as_given(_prop: str, value: Any) -> Any:
    return value


def _capture(_prop: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    both = [{"CaptureMode": mode} for mode in ("Input", "Output")]
    return {
        "EnableCapture": True,
        "InitialSamplingPercentage": 100,
        "DestinationS3Uri": value,
        "CaptureOptions": both,
    }


def _answers(_prop: str, value: Any) -> Any:
    return {"OutputConfig": {"S3OutputPath": value}} if isinstance(value, str) else value


def _dump(_prop: str, value: Any) -> Any:
    return {"DestinationS3Uri": value} if isinstance(value, str) else value


class _Member(NamedTuple):
    """Where a setting goes, and how it is read."""

    name: str
    read: Callable[[str, Any], Any] = _as_given


_OF_VARIANT = {
    "variant_name": _Member("VariantName"),
    "initial_weight": _Member("InitialVariantWeight"),
    "volume_size_gb": _Member("VolumeSizeInGB", gigabytes),
    "model_download_timeout": _Member("ModelDataDownloadTimeoutInSeconds", whole_seconds),
    "startup_timeout": _Member("ContainerStartupHealthCheckTimeoutInSeconds", whole_seconds),
    "ssm_access": _Member("EnableSSMAccess"),
    "inference_ami_version": _Member("InferenceAmiVersion"),
    "routing": _Member("RoutingConfig", lambda _prop, value: {"RoutingStrategy": value}),
    "core_dump": _Member("CoreDumpConfig", _dump),
    "managed_instance_scaling": _Member("ManagedInstanceScaling"),
}
_OF_CONFIG = {
    "kms_key": _Member("KmsKeyId", lambda _prop, value: key_arn(value)),
    "data_capture": _Member("DataCaptureConfig", _capture),
    "async_inference": _Member("AsyncInferenceConfig", _answers),
}


def config_request(
    *,
    model_name: str,
    instance_count: int,
    capacity: Mapping[str, Any],
    settings: EndpointSettings,
    overrides: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a CreateEndpointConfig request without a name.

    Parameters
    ----------
    model_name : str
    instance_count : int
    capacity : Mapping
        What each variant runs on: its type or pools, and its reservation.
    settings : EndpointSettings
    overrides : Mapping, optional
        Deep-merged last: mappings merge, everything else replaces, ``None`` removes.

    Raises
    ------
    InvalidInputError
        For a setting that does not exist, or a shadow variant without a model or a count.

    Examples
    --------
    >>> made = config_request(model_name="chat", instance_count=2, capacity={"InstanceType": "ml.g5.xlarge"},
    ...     settings={"routing": "LEAST_OUTSTANDING_REQUESTS"})
    >>> made["ProductionVariants"][0]["RoutingConfig"]
    {'RoutingStrategy': 'LEAST_OUTSTANDING_REQUESTS'}
    """
    allowed = EndpointSettings.__annotations__
    if unknown := set(settings) - set(allowed):
        raise InvalidInputError(f"no setting {', '.join(sorted(unknown))}; the settings are {', '.join(allowed)}")
    variant = {"VariantName": "AllTraffic", "ModelName": model_name, "InitialInstanceCount": instance_count}
    production = {**variant, **capacity, **_members(settings, _OF_VARIANT)}
    request: dict[str, Any] = {"ProductionVariants": [production]}
    if settings.get("shadow") is not None:
        request["ShadowProductionVariants"] = [{"VariantName": "Shadow", **capacity, **_shadow(settings["shadow"])}]
    return deep_merge(request | _members(settings, _OF_CONFIG), overrides or {})


def _members(settings: Mapping[str, Any], table: Mapping[str, _Member]) -> dict[str, Any]:
    given = {prop: settings[prop] for prop in table if settings.get(prop) is not None}
    return {table[prop].name: table[prop].read(prop, value) for prop, value in given.items()}


def _shadow(given: Any) -> dict[str, Any]:
    needed = ("ModelName", "InitialInstanceCount")
    if not isinstance(given, dict) or any(member not in given for member in needed):
        raise InvalidInputError(f"shadow: a mapping with {' and '.join(needed)} is needed, {given!r} was given")
    return dict(given)


def instance_pools(prop: str, types: Sequence[str], models: Mapping[str, str] | None) -> list[dict[str, Any]]:
    """Return instance pools in order: the first type that has capacity is taken.

    Parameters
    ----------
    prop : str
        What was given, for words.
    types : sequence of str
        One to five, each once.
    models : Mapping, optional
        The model of a type, where it is another than the endpoint's.

    Raises
    ------
    InvalidInputError
        For no type, more than five, one twice, or a model of a type that is not among them.

    Examples
    --------
    >>> instance_pools("types", ["ml.g6e.48xlarge"], {"ml.g6e.48xlarge": "chat-l40s"})
    [{'InstanceType': 'ml.g6e.48xlarge', 'Priority': 1, 'ModelNameOverride': 'chat-l40s'}]
    """
    if isinstance(types, str) or not 1 <= len(types) <= MAX_POOLS or not all(isinstance(name, str) for name in types):
        raise InvalidInputError(f"{prop}: 1 to {MAX_POOLS} instance types are needed, {types!r} were given")
    if twice := sorted({name for name in types if types.count(name) > 1}):
        raise InvalidInputError(f"{prop}: {', '.join(twice)} is given twice; each type has one place in the order")
    if stray := sorted(set(models or {}) - set(types)):
        raise InvalidInputError(f"models: {', '.join(stray)} is not among the types {', '.join(types)}")
    return [
        {"InstanceType": name, "Priority": place}
        | ({"ModelNameOverride": models[name]} if models and name in models else {})
        for place, name in enumerate(types, 1)
    ]
