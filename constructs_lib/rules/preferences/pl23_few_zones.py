"""More zones, more chances."""

from constructs_lib import facts
from constructs_lib.rules.authoring import App, Findings, Severity, Subject, is_unresolved, rule, unverified, warning
from constructs_lib.rules.preferences._common import JOBS, plan_reference, resources_of, vpc_subnets
from constructs_lib.rules.values import items, known_text
from constructs_lib.rules.zones import zones_of_subnets


@rule(
    "GPU-PL23",
    title="a scarce list in fewer than three zones",
    kinds=JOBS,
    finds={Severity.WARNING: "an accelerated on-demand list whose literal subnets lie in fewer than three zones"},
    why="the subnets are the zones in which SageMaker may look for capacity; a job runs in one of them",
    fix="give a subnet in each of three or more zones",
    source="SageMaker guide, train-get-capacity",
)
def few_zones(subject: Subject, app: App) -> Findings:
    """Count the zones of the subnets."""
    raw, at = vpc_subnets(subject)
    resources = resources_of(subject)[0]
    scarce = [e for e in resources.entries if e.accelerated and plan_reference(e, resources, subject, app) is None]
    if raw is None or not resources.listed or not (scarce or resources.unknown):
        return
    wanted = facts.documented_limit("recommended_zones")
    subnets = {known_text(subnet) for subnet in items(raw)}
    zones = zones_of_subnets(subject, app)
    if is_unresolved(raw) or None in subnets or resources.unknown:
        yield unverified(f"in how many zones the subnets lie is not known here; {wanted} are recommended", at)
    elif len(subnets) < wanted:
        yield warning(f"{len(subnets)} subnets lie in at most as many zones; {wanted} zones are recommended", at)
    elif not subnets <= zones.keys():
        yield unverified(f"in how many zones the subnets lie is not known here; {wanted} are recommended", at)
    elif len(found := {zones[str(subnet)] for subnet in subnets}) < wanted:
        yield warning(
            f"the subnets lie in {len(found)} zones ({', '.join(sorted(found))}); {wanted} are recommended", at
        )
