"""The quota of every listed type is checked."""

from constructs_lib.rules.authoring import App, Findings, Phase, Severity, Subject, error, rule, unverified
from constructs_lib.rules.preferences._common import JOBS, resources_of
from constructs_lib.rules.values import mapping, number


@rule(
    "GPU-PL26",
    title="an entry above the account's quota",
    kinds=JOBS,
    finds={Severity.ERROR: "a count above the declared quota of its type"},
    why="SageMaker checks the quota of every entry, and one shortfall rejects the whole list: a fallback without quota "
    "makes the job less likely to run, not more",
    fix="raise the quota before launching, or drop the entry",
    source="SageMaker guide, train-instance-preferences: service quotas",
    phase=Phase.RUN,
)
def quota(subject: Subject, app: App) -> Findings:
    """Compare with the quotas that the caller read; nothing declared is nothing said."""
    quotas = app.declared(subject, "quotas")
    use = "training" if subject.kind.startswith("training") else "processing"
    for resources in resources_of(subject) if isinstance(quotas, dict) else ():
        for entry in resources.entries:
            asked = number(entry.data.get("InstanceCount", resources.data.get("InstanceCount")))
            allowed = number(mapping(quotas).get(entry.type or ""))
            if asked is None or allowed is None:
                yield unverified(
                    f"the quota or the count of {entry.type or 'an unknown type'} is not known here", entry.at
                )
            elif asked > allowed:
                name = f"{entry.type} for {use} job usage"
                yield error(f"{asked} instances are asked for, the quota {name!r} is {allowed}", entry.at)
