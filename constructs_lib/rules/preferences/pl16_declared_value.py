"""Declared speed and price are kept."""

from decimal import Decimal

from constructs_lib.rules.authoring import App, Findings, Severity, Subject, error, rule, unverified, warning
from constructs_lib.rules.preferences._common import JOBS, Entry, resources_of
from constructs_lib.rules.values import amount, mapping

_TOLERANCE = Decimal("0.2")


@rule(
    "GPU-PL16",
    title="an entry outside the declared speed or price",
    kinds=JOBS,
    finds={
        Severity.ERROR: "a declared price per job above the declared ceiling",
        Severity.WARNING: "a declared throughput outside the declared tolerance of the first entry's",
    },
    why="AWS takes the first type with capacity, whatever it costs or how long it takes",
    fix="drop the entry, change its count, or declare another tolerance or ceiling",
    source="SageMaker guide, train-instance-preferences: nothing but capacity is compared",
)
def declared_value(subject: Subject, app: App) -> Findings:
    """Compare what is declared by type; nothing declared is nothing said."""
    speeds = mapping(app.declared(subject, "throughput"))
    prices = mapping(app.declared(subject, "price_per_job"))
    ceiling = amount(app.declared(subject, "max_price_per_job"))
    tolerance = amount(app.declared(subject, "throughput_tolerance"))
    for resources in resources_of(subject) if speeds or (prices and ceiling is not None) else ():
        if resources.entries:
            yield from _speed(resources.entries, speeds, _TOLERANCE if tolerance is None else tolerance)
        for entry in resources.entries:
            price = amount(prices.get(entry.type or ""))
            if ceiling is not None and price is not None and price > ceiling:
                yield error(f"{entry.type} costs {price} a job as declared, above the ceiling of {ceiling}", entry.at)
            elif ceiling is not None and prices and price is None:
                yield unverified(f"no price per job is declared for {entry.type or 'an unknown type'}", entry.at)


def _speed(entries: tuple[Entry, ...], speeds: object, tolerance: Decimal) -> Findings:
    first = amount(mapping(speeds).get(entries[0].type or ""))
    for entry in entries[1:] if speeds else ():
        speed = amount(mapping(speeds).get(entry.type or ""))
        if first is None or speed is None:
            yield unverified(f"no throughput is declared to compare {entry.type or 'an unknown type'} with", entry.at)
        elif abs(speed - first) > tolerance * first:
            given = f"{entry.type} is declared at {speed}, {entries[0].type} at {first}"
            yield warning(f"throughput differs by more than {tolerance:.0%}: {given}", entry.at)
