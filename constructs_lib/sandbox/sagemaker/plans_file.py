"""The capacity file's plans that are already bought, and the offerings that can be bought."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import yaml

from .seeds import ExtensionSeed, Moment, OfferingSeed, Payment, PlanSeed, Price, SegmentSeed
from .yaml_reader import Reader, a_duration, a_moment, a_zone, an_amount, at_key, matching, one_of, text_up_to, whole

if TYPE_CHECKING:
    from .yaml_reader import Parser

__all__ = ["read_offerings", "read_plans"]


def read_plans(reader: Reader, node: yaml.Node, path: str) -> tuple[PlanSeed, ...]:
    """Read the section ``plans``."""
    plans = reader.sequence(node, path, _plan, "a list of plans")
    names = [plan.name for plan in plans if plan]
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        reader.note(node, path, f"the plan {name!r} appears twice; names are unique")
    return plans


def read_offerings(reader: Reader, node: yaml.Node, path: str) -> tuple[OfferingSeed, ...]:
    """Read the section ``offerings``."""
    return reader.sequence(node, path, _offering, "a list of offerings")


def _plan(reader: Reader, node: yaml.Node, path: str) -> PlanSeed:
    row = reader.mapping(node, path, _PLAN, required=("name", "instance_type", "count"))
    common = {key: row.pop(key) for key in _SEGMENT if key in row}
    row["segments"] = _periods(reader, node, path, row, common)
    return PlanSeed(**(_NO_PLAN | row))


def _offering(reader: Reader, node: yaml.Node, path: str) -> OfferingSeed:
    row = reader.mapping(node, path, _OFFERING, required=("instance_type", "count"))
    common = {key: row.pop(key) for key in ("start", "end") if key in row}
    counts = row.pop("count", None) or (0,)
    if "days" not in row:
        here = {"count": counts[0]} | {key: row.pop(key) for key in ("zone", "late") if key in row}
        row["segments"] = _periods(reader, node, path, row, common | here, or_days=", or days: 3")
    elif common or "segments" in row:
        reader.note(node, path, "give either days, or start and end, or segments")
    sold = row.pop("on_sale", {})
    prices = [(key, row.pop(key)) for key in ("fee", "price") if key in row]
    if len(prices) != 1:
        reader.note(node, path, "give either fee (in all) or price (per instance-hour)")
    elif prices[0][0] == "fee" and (len(counts) > 1 or len(row.get("days", ())) > 1):
        reader.note(node, path, "a fee is for one count and one duration; give price (per instance-hour) for several")
    levels = tuple(Price(at, amount, key == "price") for key, rows in prices for at, amount in rows)
    given = {"sold_from": sold.get("from"), "sold_until": sold.get("until"), "targets": row.pop("target", None)}
    given = {key: value for key, value in given.items() if value is not None}
    return OfferingSeed(**({"instance_type": ""} | row), counts=counts, prices=levels, **given)


def _periods(
    reader: Reader, node: yaml.Node, path: str, row: dict[str, Any], common: dict[str, Any], *, or_days: str = ""
) -> tuple[SegmentSeed, ...]:
    """Return the reserved capacities that ``start`` and ``end``, or ``segments``, tell; `row` loses its segments."""
    rows = row.pop("segments", None)
    if rows is None:
        if not {"start", "end"} <= common.keys():
            reader.note(node, path, f"give start and end, or segments: [{{start:, end:}}]{or_days}")
        _check_order(reader, node, path, [common.get("start"), common.get("end")])
        rows = ({},)
    elif "start" in common or "end" in common:
        reader.note(node, path, "give either start and end, or segments, not both")
    return tuple(SegmentSeed(**(_NO_SEGMENT | common | part)) for part in rows)


def _segment(reader: Reader, node: yaml.Node, path: str) -> dict[str, Any]:
    row = reader.mapping(node, path, _SEGMENT, required=("start", "end"))
    _check_order(reader, node, path, [row.get("start"), row.get("end")])
    return row


def _segments(reader: Reader, node: yaml.Node, path: str) -> tuple[dict[str, Any], ...]:
    rows = reader.sequence(node, path, _segment, "a list of {start:, end:}")
    _check_order(reader, node, path, [row[key] for row in rows if row for key in ("start", "end") if key in row])
    return rows


def _check_order(reader: Reader, node: yaml.Node, path: str, moments: list[Moment | None]) -> None:
    for first, second in itertools.pairwise(moments):
        if first and second and first.absolute == second.absolute and first.seconds > second.seconds:
            return reader.note(node, path, "start and end are not in order of time")
    return None


def _tags(reader: Reader, node: yaml.Node, path: str) -> tuple[tuple[str, str], ...]:
    pairs = reader.pairs(node, path, "a mapping of tag keys to values")
    return tuple((name, reader.attempt(text_up_to(256), value, at_key(path, name))) for _, name, value in pairs)


def _one_or_more(parse: Parser, allowed: str) -> Parser:
    def read(reader: Reader, node: yaml.Node, path: str) -> tuple[Any, ...]:
        if isinstance(node, yaml.ScalarNode):
            return (parse(reader, node, path),)
        return reader.sequence(node, path, parse, allowed)

    return read


def _level(reader: Reader, node: yaml.Node, path: str) -> tuple[Moment, str]:
    row = reader.mapping(node, path, {"at": a_moment, "amount": an_amount}, required=("at", "amount"))
    return row.get("at", Moment(0)), row.get("amount", "0")


def _amounts(reader: Reader, node: yaml.Node, path: str) -> tuple[tuple[Moment, str], ...]:
    if isinstance(node, yaml.ScalarNode):
        return ((Moment(float("-inf"), absolute=True), an_amount(reader, node, path)),)
    return reader.sequence(node, path, _level, "an amount, or a list of {at: 25m, amount: 66000.00}")


def _sale(reader: Reader, node: yaml.Node, path: str) -> dict[str, Any]:
    return reader.mapping(node, path, {"from": a_moment, "until": a_moment})


def _payment(reader: Reader, node: yaml.Node, path: str) -> Payment:
    return Payment(**reader.mapping(node, path, {"takes": a_duration, "fail": text_up_to(1024)}))


def _extension(reader: Reader, node: yaml.Node, path: str) -> ExtensionSeed:
    if isinstance(node, yaml.ScalarNode) and node.value == "none":
        return ExtensionSeed(days=())
    return ExtensionSeed(**reader.mapping(node, path, {"days": _days, "price": an_amount, "payment": _payment}))


_days = _one_or_more(whole(1), "a number of days, or a list of them")
_targets = _one_or_more(one_of("SageMakerResourceName"), "a target, or a list of them")
_counts = _one_or_more(whole(1), "a number of instances, or a list of them")
_SEGMENT: dict[str, Parser] = {
    "start": a_moment,
    "end": a_moment,
    "count": whole(1),
    "zone": a_zone,
    "late": a_duration,
}
_COMMON: dict[str, Parser] = {
    **_SEGMENT,
    "instance_type": one_of("ReservedCapacityInstanceType"),
    "segments": _segments,
    "currency": matching(r"[A-Z]{3}", "a currency code such as USD"),
    "extension": _extension,
}
_PLAN: dict[str, Parser] = {
    **_COMMON,
    "name": matching(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,63}", "a plan name: up to 64 letters, digits and inner hyphens"),
    "target": one_of("SageMakerResourceName"),
    "status": one_of("TrainingPlanStatus"),
    "upfront_fee": an_amount,
    "tags": _tags,
}
_OFFERING: dict[str, Parser] = {
    **_COMMON,
    "count": _counts,
    "days": _days,
    "fee": _amounts,
    "price": _amounts,
    "target": _targets,
    "on_sale": _sale,
    "payment": _payment,
}
# Stand for what is missing in a file that will be refused.
_NO_SEGMENT: dict[str, Any] = {"start": Moment(0), "end": Moment(0), "count": 0}
_NO_PLAN: dict[str, Any] = {"name": "", "instance_type": ""}
