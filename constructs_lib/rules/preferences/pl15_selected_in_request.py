"""What SageMaker selected is an answer, not a request."""

from constructs_lib.rules.authoring import App, Findings, Severity, Subject, error, rule, unverified
from constructs_lib.rules.preferences._common import JOBS, resources_of


@rule(
    "GPU-PL15",
    title="a read-only Selected member in a request",
    kinds=JOBS,
    finds={Severity.ERROR: "SelectedInstanceType or SelectedInstanceCount"},
    why="the API refuses it; it gets there when a Describe answer is sent again as a request",
    fix="drop the member; to run on the same type again give it as InstanceType",
    source="botocore: ResourceConfig.SelectedInstanceType, ProcessingClusterConfig.SelectedInstanceType",
    suppresses=("GPU-WF05",),
)
def selected_in_request(subject: Subject, _app: App) -> Findings:
    """Look for the two members."""
    for resources in resources_of(subject):
        if resources.unknown:
            yield unverified("the instances are not known here; Selected members are refused", resources.at)
        for key in ("SelectedInstanceType", "SelectedInstanceCount"):
            if resources.data.get(key) is not None:
                yield error(f"{key} is read-only and refused in a request", resources.path(key))
