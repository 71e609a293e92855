"""An approval needs an approver, and a custom resource an hour at most."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, rule
from constructs_lib.rules.buying import approval, is_ours


@rule(
    "GPU-TP08",
    title="an approval without an approver, or a wait above one hour",
    kinds=(Kind.TRAINING_PLAN,),
    finds={Severity.ERROR: "an approval is required and no topic is given; ServiceTimeout above 3600 seconds"},
    why="an approval that nobody can give must not turn into a purchase; CloudFormation ends every wait after an hour, "
    "and the stack rolls back around what was bought",
    fix="give Approval.required(topic=...); do not wait for the plan: the purchase succeeds while it is Pending",
    source="CloudFormation guide, https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/"
    "aws-resource-cloudformation-customresource.html",
)
def no_approver(subject: Subject, _app: App) -> Findings:
    """Look at the approval and the timeout of our purchase resource."""
    if is_ours(subject):
        yield from approval(subject)
