"""The Price List service, as far as it tells of SageMaker's instances: the prices that the capacity file names."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from .errors import ServiceError
from .modelcheck import check
from .switches import reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .context import Context

__all__ = ["PriceList"]

Request = dict[str, Any]
_SERVICE = "AmazonSageMaker"
# Source: the offer file of AmazonSageMaker names the use of an instance in the attribute `component`.
_COMPONENTS = ("Training", "Processing", "Hosting")
_LARGEST_PAGE = 100


class PriceList:
    """Answers GetProducts for the service code ``AmazonSageMaker``.

    Parameters
    ----------
    context
        Region and switches.
    prices
        USD for an instance hour by instance type; the same for each use. Other types have no product.
    """

    def __init__(self, context: Context, prices: Mapping[str, str]) -> None:
        self._context, self._prices = context, prices

    def handle(self, operation: str, request: Request) -> Request:
        """Do one API call.

        Raises
        ------
        ServiceError
            If the Price List refuses, or the sandbox has no such operation.
        """
        if operation != "GetProducts":
            raise ServiceError(
                "UnknownOperationException", f"the sandbox has no Price List operation {operation}; it has GetProducts"
            )
        check("pricing", operation, request)
        if request["ServiceCode"] != _SERVICE:
            raise ServiceError("NotFoundException", f"the sandbox has prices of {_SERVICE} only")
        rows = [json.dumps(row) for row in self._products() if _matches(row, request.get("Filters", ()))]
        first, size = _offset(request.get("NextToken", "0")), request.get("MaxResults", _LARGEST_PAGE)
        answer: Request = {"FormatVersion": "aws_v1", "PriceList": rows[first : first + size]}
        return answer | ({"NextToken": str(first + size)} if first + size < len(rows) else {})

    def _products(self) -> list[Request]:
        name = reading(self._context.faults, "pricing.instance-attribute")
        return [
            _product(instance_type, amount, {name: instance_type, "component": use, "regionCode": self._context.region})
            for instance_type, amount in self._prices.items()
            for use in _COMPONENTS
        ]


def _product(instance_type: str, amount: str, attributes: dict[str, str]) -> Request:
    sku = hashlib.sha256(f"{instance_type} {attributes['component']}".encode()).hexdigest()[:16].upper()
    dimension = {"unit": "Hrs", "beginRange": "0", "endRange": "Inf", "pricePerUnit": {"USD": amount}}
    term = {"sku": sku, "priceDimensions": {f"{sku}.1": dimension}, "termAttributes": {}}
    product = {"productFamily": "ML Instance", "sku": sku, "attributes": {"servicecode": _SERVICE, **attributes}}
    return {"serviceCode": _SERVICE, "product": product, "terms": {"OnDemand": {f"{sku}.0": term}}}


def _matches(row: Request, filters: Any) -> bool:
    attributes = row["product"]["attributes"]
    return all(attributes.get(one["Field"]) == one["Value"] for one in filters)


def _offset(token: str) -> int:
    if not token.isdecimal():
        raise ServiceError("InvalidNextTokenException", "NextToken was not made by GetProducts.")
    return int(token)
