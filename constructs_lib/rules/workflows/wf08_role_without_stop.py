"""Who starts a job must be able to stop it."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, rule, unverified, warning
from constructs_lib.rules.roles import allowed
from constructs_lib.rules.values import items, mapping

_STOPS = {
    "CreateTrainingJob": ("StopTrainingJob", "training-job"),
    "CreateProcessingJob": ("StopProcessingJob", "processing-job"),
    "CreateHyperParameterTuningJob": ("StopHyperParameterTuningJob", "hyper-parameter-tuning-job"),
    "CreateTransformJob": ("StopTransformJob", "transform-job"),
}


@rule(
    "GPU-WF08",
    title="a machine's role that cannot stop its jobs",
    kinds=(Kind.ROLE,),
    finds={Severity.WARNING: "a role that starts jobs, without the Stop action for them"},
    why="when an execution is aborted or times out, Step Functions cannot stop the job, which is billed to its end",
    fix="allow the Stop action on the same jobs",
    source="Step Functions guide, sagemaker-iam; service-authorization reference for SageMaker",
)
def role_without_stop(subject: Subject, _app: App) -> Findings:
    """Ask for each kind of job that is started whether it can be stopped."""
    started = {str(mapping(call).get("Action")) for call in items(subject.about.get("Calls"))}
    for action in sorted(started & _STOPS.keys()):
        stop, job = _STOPS[action]
        may = allowed(subject, stop, job)
        if may is None:
            yield unverified(f"whether the role allows {stop} is not known here", "Statements")
        elif not may:
            yield warning(f"the role starts jobs with {action} and is not allowed {stop}", "Statements")
