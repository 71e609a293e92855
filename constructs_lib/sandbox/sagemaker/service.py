"""The front of the fake: one request in, one answer or error out."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.modelcheck import check, operation_model

from .agenda import Agenda
from .endpoint_scaling import Scaling
from .endpoints import Endpoints
from .evaluation import evaluate
from .placement import Placement
from .plans import Plans
from .plans_offerings import Offerings
from .plans_purchases import Purchases
from .processing_jobs import ProcessingJobs
from .resources import Resources
from .seeds import spot_pool
from .supply import Supply
from .tags import Tags
from .training_jobs import TrainingJobs
from .tuning_jobs import TuningJobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.sandbox.context import Context

    from .capacity import Capacity
    from .placement import Evaluate

__all__ = ["SageMaker"]

Request = dict[str, Any]


class SageMaker:
    """SageMaker's control plane for one account and region.

    Parameters
    ----------
    context
        The sandbox's clock, switches, events and clients.
    capacity
        What is free when, quotas, plans and how jobs run; offsets count from now.
    choose
        How an entry is chosen; only tests give another than AWS's.

    Attributes
    ----------
    requests
        Every request received: the virtual time, the operation and the request, refused ones included.
    endpoints
        Endpoints: their log, their invocations, and a way to invoke them.
    scaling
        Their scaling, which follows whatever registry of targets it is given.
    """

    def __init__(self, context: Context, capacity: Capacity, choose: Evaluate = evaluate) -> None:
        self.requests: list[tuple[float, str, Request]] = []
        self._agenda = Agenda(context.clock)
        with self._agenda.moment() as start:
            tags = Tags(self._agenda)
            plans = Plans(context, self._agenda, capacity.plans, start, tags)
            self._placement = Placement(self._agenda, Supply(capacity), plans, choose)
            self._placement.follow(capacity, start)
            self._offerings = Offerings(capacity.offerings, start, context.faults, context.region)
            self._purchases = Purchases(self._placement, self._offerings, capacity.quotas, context.faults)
            resources = Resources(context, self._agenda, tags)
            self.endpoints = Endpoints(context, capacity, self._placement, resources, tags)
            self.scaling = Scaling(self._agenda, self.endpoints)
            training = TrainingJobs(context, capacity, self._placement, tags)
            self._operations: dict[str, Callable[[Request], Request]] = {
                **resources.operations(),
                **self.endpoints.operations(),
                **training.operations(),
                **TuningJobs(context, capacity, self._placement, tags, training).operations(),
                **ProcessingJobs(context, capacity, self._placement, tags).operations(),
                **plans.operations(),
                **self._purchases.operations(),
                **tags.operations(),
            }

    def handle(self, operation: str, request: Request) -> Request:
        """Do one API call.

        Parameters
        ----------
        operation
            Such as ``CreateTrainingJob``.
        request
            Its members; timestamps as epoch seconds, text or `datetime`.

        Returns
        -------
        dict
            The answer's members; timestamps as epoch seconds.

        Raises
        ------
        ServiceError
            If SageMaker refuses, or the sandbox has no such operation.
        """
        with self._agenda.moment() as now:
            self.requests.append((now, operation, copy.deepcopy(request)))
        operation_model("sagemaker", operation)
        if operation not in self._operations:
            raise ServiceError(
                "UnknownOperationException",
                f"the sandbox has no SageMaker operation {operation}; it has {', '.join(sorted(self._operations))}",
            )
        check("sagemaker", operation, request)
        return self._operations[operation](copy.deepcopy(request))

    def set_free(self, instance_type: str, free: float, zone: str | None = None, *, spot: bool = False) -> None:
        """Say how many instances of a type are free from now on, as a level of the capacity file would.

        Parameters
        ----------
        instance_type, free, zone
            Of which type how many, and where if the capacity file tells its instances by zone.
        spot
            Whether spot instances are meant.

        Raises
        ------
        SandboxError
            If the number is negative or the zone not one of the type's.
        """
        with self._agenda.moment() as now:
            self._placement.set_free(spot_pool(instance_type) if spot else instance_type, free, zone, now)

    def interrupt_spot(self, instance_type: str, free: float = 0, zone: str | None = None) -> None:
        """Take the spot instances of a type from the jobs that have them; `free` are free from then on.

        Raises
        ------
        SandboxError
            As `set_free`.
        """
        with self._agenda.moment() as now:
            self._placement.set_free(spot_pool(instance_type), free, zone, now, interrupts=True)

    def set_price(self, instance_type: str, amount: str) -> None:
        """Let every offering of a type cost an amount per instance-hour from now on.

        Raises
        ------
        SandboxError
            If nothing of this type is sold.
        """
        with self._agenda.moment() as now:
            self._offerings.set_price(instance_type, amount, now)

    def purchases(self) -> list[dict[str, Any]]:
        """Return everything that was bought, oldest first.

        Returns
        -------
        list of dict
            ``time`` (epoch seconds), ``operation``, ``plan`` (its ARN), ``offering``, ``fee``, ``currency`` and
            ``tags`` by key.
        """
        with self._agenda.moment():
            return [dict(row) for row in self._purchases.made]

    def evaluations(self, job_name: str) -> list[dict[str, Any]]:
        """Return what each evaluation of a job saw, oldest first.

        Returns
        -------
        list of dict
            ``time`` (epoch seconds), ``rank``, ``instance_type``, ``training_plan_arn`` (None: On-Demand), ``needed``,
            ``free`` (a number or ``unlimited``) and ``outcome`` (``selected`` or ``no capacity``).
        """
        with self._agenda.moment():
            return [dict(row) for row in self._placement.evaluations.get(job_name, ())]
