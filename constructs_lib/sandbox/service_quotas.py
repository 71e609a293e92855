"""Service Quotas, as far as it tells of SageMaker: the quotas that the capacity file names."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, Any

from .errors import ServiceError
from .modelcheck import check

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .context import Context

__all__ = ["ServiceQuotas"]

Request = dict[str, Any]
_LARGEST_PAGE = 100


class ServiceQuotas:
    """Answers ListServiceQuotas and GetServiceQuota for the service code ``sagemaker``.

    Parameters
    ----------
    context
        Account and region.
    quotas
        Instances allowed, by quota name; a quota that is not named does not exist here, and limits nothing.
    """

    def __init__(self, context: Context, quotas: Mapping[str, int]) -> None:
        prefix = f"arn:aws:servicequotas:{context.region}:{context.account}:sagemaker"
        rows = [_quota(name, value, prefix) for name, value in quotas.items()]
        self._rows = sorted(rows, key=lambda row: str(row["QuotaCode"]))
        self._operations = {"ListServiceQuotas": self._list, "GetServiceQuota": self._get}

    def handle(self, operation: str, request: Request) -> Request:
        """Do one API call.

        Raises
        ------
        ServiceError
            If Service Quotas refuses, or the sandbox has no such operation.
        """
        if operation not in self._operations:
            raise ServiceError(
                "UnknownOperationException",
                f"the sandbox has no Service Quotas operation {operation}; it has "
                f"{', '.join(sorted(self._operations))}",
            )
        check("service-quotas", operation, request)
        if request["ServiceCode"] != "sagemaker":
            raise ServiceError(
                "NoSuchResourceException",
                f"the sandbox has the quotas of service code sagemaker, not of {request['ServiceCode']}",
            )
        return self._operations[operation](request)

    def _list(self, request: Request) -> Request:
        after = _read_token(request["NextToken"]) if "NextToken" in request else ""
        wanted = request.get("QuotaCode")
        rows = [row for row in self._rows if row["QuotaCode"] > after and wanted in (None, row["QuotaCode"])]
        size = request.get("MaxResults", _LARGEST_PAGE)
        answer: Request = {"Quotas": [dict(row) for row in rows[:size]]}
        if len(rows) > size:
            answer["NextToken"] = base64.b64encode(rows[size - 1]["QuotaCode"].encode()).decode()
        return answer

    def _get(self, request: Request) -> Request:
        for row in self._rows:
            if row["QuotaCode"] == request["QuotaCode"]:
                return {"Quota": dict(row)}
        raise ServiceError("NoSuchResourceException", f"There is no quota {request['QuotaCode']} of sagemaker.")


def _quota(name: str, value: int, prefix: str) -> Request:
    code = f"L-{hashlib.sha256(name.encode()).hexdigest()[:8].upper()}"  # AWS's codes are as arbitrary
    return {
        "ServiceCode": "sagemaker",
        "ServiceName": "Amazon SageMaker",
        "QuotaArn": f"{prefix}/{code}",
        "QuotaCode": code,
        "QuotaName": name,
        "Value": float(value),
        "Unit": "None",
        "Adjustable": True,
        "GlobalQuota": False,
        "QuotaAppliedAtLevel": "ACCOUNT",
    }


def _read_token(token: str) -> str:
    try:
        code = base64.b64decode(token.encode(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        code = ""
    if not code.startswith("L-"):
        raise ServiceError("InvalidPaginationTokenException", "NextToken was not made by this list.")
    return code
