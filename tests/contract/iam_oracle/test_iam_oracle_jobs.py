"""What launching takes: every call that a role makes is allowed, and with one action less it is not."""

import copy

import pytest

from constructs_lib.rules.policies import Policies, Request

pytestmark = pytest.mark.slow

ACCOUNT, REGION = "111122223333", "us-east-1"
PLACE = f"{REGION}:{ACCOUNT}"
PLAN = f"arn:aws:sagemaker:{PLACE}:training-plan/nightly"
TO_SAGEMAKER = {"iam:PassedToService": "sagemaker.amazonaws.com"}
TO_EC2 = {"iam:PassedToService": "ec2.amazonaws.com"}
KINDS = {
    "TrainingJob": "training-job",
    "ProcessingJob": "processing-job",
    "HyperParameterTuningJob": "hyper-parameter-tuning-job",
}


def role(template, construct_id):
    """Return the policy of a role of the stack as it is deployed, and the role's ARN."""
    (found,) = (
        (name, r["Properties"])
        for name, r in template["Resources"].items()
        if r["Type"] == "AWS::IAM::Role" and name.startswith(construct_id)
    )
    name, properties = found
    (policy,) = properties["Policies"]
    path = properties.get("Path", "/")
    return policy["PolicyDocument"], f"arn:aws:iam::{ACCOUNT}:role{path}{name}"


@pytest.fixture(scope="module")
def policy_of(everything, plain_text):
    """Return a function that gives the deployed policy of a role, by the start of its logical id."""

    def of(construct_id):
        document = copy.deepcopy(role(everything.template, construct_id)[0])
        for statement in document["Statement"]:
            statement["Resource"] = [plain_text(one) for one in statement["Resource"]]
        return document

    return of


def without(document, action):
    """Return the policy without one action."""
    less = copy.deepcopy(document)
    for statement in less["Statement"]:
        statement["Action"] = [one for one in statement["Action"] if one != action]
    less["Statement"] = [statement for statement in less["Statement"] if statement["Action"]]
    return less


def jobs(prefix="Research"):
    """Return the calls on a job of each kind, in the spelling of its name that AWS may put into the ARN."""
    for noun, kind in KINDS.items():
        arn = f"arn:aws:sagemaker:{PLACE}:{kind}/{prefix}-x-1"
        for action in (f"Create{noun}", f"Describe{noun}", f"Stop{noun}", "ListTags", "AddTags"):
            yield f"sagemaker:{action}", arn, {}


def reserved():
    for arn in (PLAN, f"arn:aws:sagemaker:{PLACE}:reserved-capacity/abc"):
        yield "sagemaker:CreateTrainingJob", arn, {}


def launcher_calls(own, shared):
    yield from jobs()
    yield from jobs("research")
    yield from reserved()
    for passed in (own, shared):
        yield "iam:PassRole", passed, TO_SAGEMAKER
    yield "sagemaker:DescribeTrainingPlan", PLAN, {}
    tuning = f"arn:aws:sagemaker:{PLACE}:hyper-parameter-tuning-job/Research-x-1"
    yield "sagemaker:ListTrainingJobsForHyperParameterTuningJob", tuning, {}
    yield "servicequotas:ListServiceQuotas", "*", {}
    yield "ec2:DescribeSubnets", "*", {}
    yield "states:StartExecution", f"arn:aws:states:{PLACE}:stateMachine:Research-Stepped-60c5fa71", {}
    yield "states:DescribeExecution", f"arn:aws:states:{PLACE}:execution:Research-Stepped-60c5fa71:run", {}
    for answer in ("SendTaskSuccess", "SendTaskFailure"):
        yield f"states:{answer}", "*", {}


def sync_calls(shared):
    yield from jobs()
    yield "iam:PassRole", shared, TO_SAGEMAKER
    for kind in ("TrainingJobs", "ProcessingJobs", "TuningJobs"):
        rule = f"arn:aws:events:{PLACE}:rule/StepFunctionsGetEventsForSageMaker{kind}Rule"
        for action in ("PutRule", "PutTargets", "DescribeRule"):
            yield f"events:{action}", rule, {}


def hold(simulate, document, calls):
    """Every call is allowed, and none is when its action is taken away."""
    asked = [Request(action=action, resource=arn, context=context) for action, arn, context in calls]
    whole = simulate([(one, Policies(identity=(document,))) for one in asked])
    refused = [(one.action, one.resource) for one, verdict in zip(asked, whole, strict=True) if verdict != "Allowed"]
    assert refused == []
    less = simulate([(one, Policies(identity=(without(document, one.action),))) for one in asked])
    assert [one.action for one, verdict in zip(asked, less, strict=True) if verdict == "Allowed"] == []


def test_every_call_of_the_launcher_is_allowed_and_each_needs_its_action(simulate, everything, policy_of):
    own = role(everything.template, "SteppedRole")[1]
    shared = role(everything.template, "GpuCapacityExecutionRole")[1]
    calls = list(launcher_calls(own, shared))
    machine = everything.jobs["Stepped"].job_name_prefix
    calls = [(action, arn.replace("Research-Stepped-60c5fa71", machine), context) for action, arn, context in calls]
    hold(simulate, policy_of("GpuCapacityLauncherRole"), calls)


def test_every_call_of_step_functions_itself_is_allowed_and_each_needs_its_action(simulate, everything, policy_of):
    shared = role(everything.template, "GpuCapacityExecutionRole")[1]
    launcher = f"arn:aws:lambda:{PLACE}:function:{everything.jobs['Launched'].kit.launcher_name}"
    calls = [*sync_calls(shared), ("lambda:InvokeFunction", launcher, {})]
    hold(simulate, policy_of("GpuCapacityMachineRole"), calls)


def test_a_machine_of_ones_own_may_make_the_calls_of_all_the_jobs_that_are_its_steps(simulate, everything, plain_text):
    (policy,) = (
        r["Properties"]["PolicyDocument"]
        for name, r in everything.template["Resources"].items()
        if r["Type"] == "AWS::IAM::Policy" and name.startswith("MineRole")
    )
    document = copy.deepcopy(policy)
    for statement in document["Statement"]:
        given = statement["Resource"]
        statement["Resource"] = [plain_text(one) for one in (given if isinstance(given, list) else [given])]
        statement["Action"] = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
    launcher = f"arn:aws:lambda:{PLACE}:function:{everything.jobs['Launched'].kit.launcher_name}"
    shared = role(everything.template, "GpuCapacityExecutionRole")[1]
    hold(simulate, document, [*sync_calls(shared), ("lambda:InvokeFunction", launcher, {})])


def test_schedules_and_rules_may_start_what_they_are_for_and_nothing_else(simulate, everything, policy_of):
    names = {
        name: f"arn:aws:states:{PLACE}:stateMachine:{job.job_name_prefix}" for name, job in everything.jobs.items()
    }
    launcher = f"arn:aws:lambda:{PLACE}:function:{everything.jobs['Launched'].kit.launcher_name}"
    start = "states:StartExecution"
    schedule, event = policy_of("GpuCapacityScheduleRole"), policy_of("GpuCapacityEventRole")
    hold(simulate, schedule, [(start, names["Stepped"], {}), ("lambda:InvokeFunction", launcher, {})])
    hold(simulate, event, [(start, names["Stepped"], {}), (start, names["Process"], {})])
    for document, others in ((schedule, ("Process", "Launched")), (event, ("Tune", "Launched"))):
        asked = [Request(action=start, resource=names[name]) for name in others]
        assert "Allowed" not in simulate([(one, Policies(identity=(document,))) for one in asked])


@pytest.mark.parametrize(
    ("action", "arn", "context"),
    [
        ("sagemaker:CreateTrainingJob", f"arn:aws:sagemaker:{PLACE}:training-job/other-1", {}),
        ("sagemaker:StopProcessingJob", f"arn:aws:sagemaker:{PLACE}:processing-job/other-1", {}),
        ("sagemaker:CreateTrainingJob", f"arn:aws:sagemaker:{PLACE}:training-plan/other", {}),
        ("sagemaker:DescribeTrainingPlan", f"arn:aws:sagemaker:{PLACE}:training-plan/other", {}),
        ("sagemaker:CreateTrainingPlan", PLAN, {}),
        ("iam:PassRole", f"arn:aws:iam::{ACCOUNT}:role/admin", TO_SAGEMAKER),
        (
            "iam:PassRole",
            f"arn:aws:iam::{ACCOUNT}:role/gpu-capacity/Research/x",
            {"iam:PassedToService": "ec2.amazonaws.com"},
        ),
        ("states:StartExecution", f"arn:aws:states:{PLACE}:stateMachine:other", {}),
        ("servicequotas:RequestServiceQuotaIncrease", f"arn:aws:servicequotas:{PLACE}:sagemaker/L-1", {}),
    ],
)
def test_the_launcher_may_do_nothing_to_what_is_not_its_stacks(simulate, policy_of, action, arn, context):
    asked = Request(action=action, resource=arn, context=context)
    assert simulate([(asked, Policies(identity=(policy_of("GpuCapacityLauncherRole"),)))]) != ["Allowed"]
