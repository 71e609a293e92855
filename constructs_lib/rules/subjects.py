"""What rules judge: typed subjects as AWS-shaped plain data. Readers make them, rules take them; both meet here.

The data of a subject is what AWS's API takes, in the API's spelling. CloudFormation's own resource types keep their
property spelling, which is the same in all cases that matter here. Before a reader makes a subject it

- drops every ``{"Ref": "AWS::NoValue"}`` member, resolves nothing else and keeps intrinsic functions as they are;
- replaces what only an execution knows (a ``Key.$`` member, a ``{% ... %}`` expression) with ``run_time_value(text)``
  under the plain key; ``constructs_lib.rules.asl.arguments`` does it;
- sets ``path`` so that ``path + "." + <path inside data>`` finds the value in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["App", "Carrier", "Kind", "Subject", "run_time_value"]

T = TypeVar("T")


class Kind(StrEnum):
    """The kinds of subject, each with the shape of its ``data`` and the keys of its ``about``."""

    TRAINING_JOB = "training-job"
    """A CreateTrainingJob request, with or without TrainingJobName. about: ``Steps``, the number of steps of the launch
    that it is one of, if there are several (of any kind of job)."""
    PROCESSING_JOB = "processing-job"
    """A CreateProcessingJob request, or the properties of AWS::SageMaker::ProcessingJob."""
    TUNING_JOB = "tuning-job"
    """A CreateHyperParameterTuningJob request."""
    AUTO_ML_JOB = "auto-ml-job"
    """A CreateAutoMLJob or CreateAutoMLJobV2 request."""
    ENDPOINT_CONFIG = "endpoint-config"
    """A CreateEndpointConfig request, or the properties of AWS::SageMaker::EndpointConfig. about: ``Reconciled``,
    whether it is one of a reserved endpoint, which is made only while its plan is active."""
    RESERVED_ENDPOINT = "reserved-endpoint"
    """The properties of Custom::SageMakerReservedEndpoint. Its configurations are subjects of their own, see
    `constructs_lib.rules.reserved_endpoints`. about: ``Models``, the models of the same template that it refers to,
    each ``{"Name": ..., "UpdateReplacePolicy": ...}``."""
    ENDPOINT = "endpoint"
    """A CreateEndpoint request, or the properties of AWS::SageMaker::Endpoint."""
    SCALABLE_TARGET = "scalable-target"
    """A RegisterScalableTarget request, or the properties of AWS::ApplicationAutoScaling::ScalableTarget."""
    CLUSTER = "cluster"
    """A CreateCluster request, or the properties of AWS::SageMaker::Cluster."""
    TRAINING_PLAN = "training-plan"
    """A purchase: the properties of Custom::SageMakerTrainingPlan, which are SearchTrainingPlanOfferings' members and
    TrainingPlanName, MaxUpfrontFee, CurrencyCode, Generation, Purchase (the keys) and Approval (Required, TopicArn). A
    bare CreateTrainingPlan request (it has TrainingPlanOfferingId) is hardly judged. about: DeletionPolicy,
    UpdateReplacePolicy, ServiceTimeout (seconds)."""
    TRAINING_PLAN_SEARCH = "training-plan-search"
    """A SearchTrainingPlanOfferings request."""
    CAPACITY_BLOCK = "capacity-block"
    """A purchase: the properties of Custom::EC2CapacityBlock, which are DescribeCapacityBlockOfferings' members and
    those of a training plan's purchase. about: as for a training plan."""
    CAPACITY_BLOCK_SEARCH = "capacity-block-search"
    """A DescribeCapacityBlockOfferings request."""
    LAUNCH_TEMPLATE = "launch-template"
    """LaunchTemplateData, or a RunInstances request. about: ``Users``, the resources of the same template that launch
    from it, each ``{"Type": ..., "Properties": {...}}``."""
    EVENT_PATTERN = "event-pattern"
    """An EventBridge event pattern."""
    SDK_CALL = "sdk-call"
    """A call that something makes later: ``{"Service": "sagemaker", "Action": "createTrainingPlan", "Parameters":
    {...}}``. about: ``Via`` (``AwsCustomResource``, ``state``, ``schedule``, ``command``), ``InstallLatestAwsSdk``."""
    IAM_DOCUMENT = "iam-document"
    """A policy document. about: ``Type`` (``managed``, ``role-inline``, ``user-inline``, ``group-inline``, ``scp``,
    ``permissions-boundary``, ``resource``)."""
    ROLE = "role"
    """A role with what it may do: ``{"RoleName", "AssumeRolePolicyDocument", "Statements": [all that the file
    attaches], "Complete": whether nothing else can be attached, as far as the file says}``. about: ``Calls``, a list
    of ``{"Action": "CreateTrainingJob", "Request": {...}, "Path": ...}`` that run with this role."""
    STATE = "state"
    """One state of a state machine, as written. about: ``Name``, ``QueryLanguage``, ``Definition`` (the machine's)."""
    STATE_MACHINE = "state-machine"
    """A whole ASL definition. about: ``Statements`` of its role and ``Complete``, as for a role, when known."""


class Carrier(StrEnum):
    """What holds a subject; the same request may be right in one and undocumented in another."""

    REQUEST = "request"
    TEMPLATE = "template"
    STATE = "state"
    PIPELINE = "pipeline"
    BATCH = "batch"


@dataclass(slots=True, eq=False)
class Subject:
    """One thing to judge, with where it came from; every place is optional.

    Parameters
    ----------
    kind : Kind
    data : Mapping
        AWS-shaped plain data, see `Kind`.
    path : str
        Where ``data`` lies in its file, such as ``Resources.Config.Properties``.
    file, resource, line : optional
        The file, the resource's logical id, the line of the resource.
    carrier : Carrier
        What holds it.
    stack, region, account : str, optional
        Of the stack that deploys it, when they are literal. Subjects of one ``stack`` are deployed together.
    about : Mapping
        What is said around the data, see `Kind`.
    declared : Mapping
        What people say about it, see `App`; goes before the app's.
    ignore : frozenset of str
        Rule ids that are acknowledged for this subject.
    """

    kind: Kind
    data: Mapping[str, Any]
    path: str = ""
    file: str | None = None
    resource: str | None = None
    line: int | None = None
    carrier: Carrier = Carrier.REQUEST
    stack: str | None = None
    region: str | None = None
    account: str | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    declared: Mapping[str, Any] = field(default_factory=dict)
    ignore: frozenset[str] = frozenset()
    _views: dict[Any, Any] = field(default_factory=dict, repr=False)

    def view(self, make: Callable[[Subject], T]) -> T:
        """Return ``make(self)``, made once: rules of one area share the parsed form of a subject."""
        try:
            return self._views[make]  # type: ignore[no-any-return]
        except KeyError:
            return self._views.setdefault(make, make(self))  # type: ignore[no-any-return]

    def place(self, at: str = "") -> str:
        """Return the path of something inside the data, as seen from the file."""
        return f"{self.path}.{at}" if self.path and at else self.path or at


class App:
    """All subjects that are judged together, the clock and what people declared.

    Parameters
    ----------
    subjects : iterable of Subject
    now : datetime, optional
        Without it everything that needs a clock is ``unverified``.
    declared : Mapping, optional
        Known keys, all optional; a subject's own ``declared`` goes first:

        ``plans``
            DescribeTrainingPlan answers of existing plans.
        ``reserved_only``
            True: every entry must name a plan.
        ``mixed_hardware``
            True: accelerated and CPU types may stand in one list.
        ``gpu_memory_tolerance``
            Accepted difference of GPU memory per device, as a part of the first entry's (0.1 is ten per cent).
        ``throughput``, ``throughput_tolerance``
            Relative speed by type, and the accepted difference from the first entry's (0.2 when not given).
        ``price_per_job``, ``max_price_per_job``
            Price of one job by type, and its ceiling, in one currency.
        ``image``
            ``{"architecture": "x86_64", "accelerator": "gpu" | "neuron" | None, "cuda": "12.4"}`` of the job's image.
        ``quotas``
            The account's quota by type, for this kind of job.
        ``subnets``
            Availability zone name or id by subnet id.
        ``zone_ids``
            Zone id by zone name, of the account.
        ``blocks``
            Ids of known capacity blocks.
    """

    def __init__(
        self, subjects: Iterable[Subject], *, now: datetime | None = None, declared: Mapping[str, Any] | None = None
    ) -> None:
        self.subjects: tuple[Subject, ...] = tuple(subjects)
        self.now = now
        self._declared = declared or {}
        self._memo: dict[Any, Any] = {}

    def declared(self, subject: Subject, key: str) -> Any:
        """Return what was declared under ``key`` for this subject, else for all, else ``None``."""
        return subject.declared.get(key, self._declared.get(key))

    def of(self, *kinds: Kind) -> tuple[Subject, ...]:
        """Return the subjects of these kinds, in order."""
        return self.once(kinds, lambda app: tuple(subject for subject in app.subjects if subject.kind in kinds))

    def once(self, key: Any, make: Callable[[App], T]) -> T:
        """Return ``make(self)``, made once under ``key``: for what a rule knows only from all subjects together."""
        if key not in self._memo:
            self._memo[key] = make(self)
        return self._memo[key]  # type: ignore[no-any-return]


def run_time_value(text: str) -> dict[str, str]:
    """Return the mark of a value that only an execution will know; ``is_unresolved`` holds for it.

    Examples
    --------
    >>> run_time_value("$.type")
    {'Fn::RunTime': '$.type'}
    """
    return {"Fn::RunTime": text}
