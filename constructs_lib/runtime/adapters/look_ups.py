"""What AWS says of quotas, plans and subnets when it is asked before a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.runtime.adapters.outcomes import is_absent, words_of
from constructs_lib.runtime.errors import LookUpError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from constructs_lib.runtime.ports import Clock, QuotasClient, SageMakerClient, SubnetsClient

__all__ = ["LookUps"]

_KEPT_SECONDS = 3600.0
# SageMaker has more than a thousand quotas, a hundred to a page: past this the launch goes on without them.
_LISTING_SECONDS = 15.0


class LookUps:
    """Quotas, kept for an hour, and plans and subnets, asked each time.

    Parameters
    ----------
    sagemaker : SageMakerClient
    quotas, subnets : callable
        Return the clients, which many launches never need.
    clock : Clock
    """

    def __init__(
        self,
        sagemaker: SageMakerClient,
        quotas: Callable[[], QuotasClient],
        subnets: Callable[[], SubnetsClient],
        clock: Clock,
    ) -> None:
        self._sagemaker, self._quotas_client, self._subnets_client = sagemaker, quotas, subnets
        self._quotas_api: QuotasClient | None = None
        self._subnets_api: SubnetsClient | None = None
        self._clock = clock
        self._quotas: dict[str, float] = {}
        self._listed_at: float | None = None
        self._unlisted = ""

    def quota(self, name: str) -> float:
        """Return the value of SageMaker's quota of that name.

        Raises
        ------
        LookUpError
            If quotas cannot be listed, or none has that name.
        """
        now = self._clock.time()
        if self._listed_at is None or now - self._listed_at > _KEPT_SECONDS:
            self._quotas, self._unlisted, self._listed_at = {}, "", now
            self._list(now + _LISTING_SECONDS)
        if name in self._quotas:
            return self._quotas[name]
        raise LookUpError(self._unlisted or f"no quota is called {name!r}")

    def _list(self, until: float) -> None:
        start: dict[str, str] = {}
        try:
            self._quotas_api = self._quotas_api or self._quotas_client()
            while self._clock.time() < until:
                page = self._quotas_api.list_service_quotas(ServiceCode="sagemaker", MaxResults=100, **start)
                self._quotas |= {quota["QuotaName"]: float(quota["Value"]) for quota in page["Quotas"]}
                if not (following := page.get("NextToken")):
                    return
                start = {"NextToken": following}
            self._unlisted = "the service quotas could not all be listed in time"
        except (BotoCoreError, ClientError) as error:
            self._unlisted = f"the service quotas could not be listed ({words_of(error)})"
        # What failed for now, such as a call that was throttled, is asked again by the next launch.
        self._listed_at = None

    def plan(self, arn: str) -> Mapping[str, Any]:
        """Return a plan as DescribeTrainingPlan shows it; empty if there is none.

        Raises
        ------
        LookUpError
            If it cannot be described.
        """
        try:
            return self._sagemaker.describe_training_plan(TrainingPlanName=arn.rpartition("/")[2])
        except (BotoCoreError, ClientError) as error:
            if is_absent(error):
                return {}
            raise LookUpError(f"{arn} could not be described ({words_of(error)})") from error

    def zones(self, subnets: Sequence[str]) -> frozenset[str]:
        """Return the zones of subnets, by name and by id: the same zone is in it as both.

        Raises
        ------
        LookUpError
            If the subnets cannot be described.
        """
        try:
            self._subnets_api = self._subnets_api or self._subnets_client()
            found = self._subnets_api.describe_subnets(SubnetIds=list(subnets))["Subnets"]
        except (BotoCoreError, ClientError) as error:
            raise LookUpError(f"the subnets could not be described ({words_of(error)})") from error
        keys = ("AvailabilityZone", "AvailabilityZoneId")
        return frozenset(subnet[key] for subnet in found for key in keys if key in subnet)
