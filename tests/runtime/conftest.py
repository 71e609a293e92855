"""What the runtime's tests share: moto's DynamoDB with a run table as the kit declares it, and a small SageMaker."""

from __future__ import annotations

import copy
from datetime import UTC, datetime

import botocore.session
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.modelcheck import check

LAG = 120
START = 1_700_000_000.0
LIVE = ("InProgress", "Stopping")
REQUEST = {
    "AlgorithmSpecification": {
        "TrainingImage": "111122223333.dkr.ecr.us-east-1.amazonaws.com/tune:1",
        "TrainingInputMode": "File",
    },
    "RoleArn": "arn:aws:iam::123456789012:role/jobs",
    "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
    "ResourceConfig": {
        "InstancePreferences": [
            {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2},
            {"InstanceType": "ml.g5.48xlarge", "InstanceCount": 4},
        ]
    },
    "StoppingCondition": {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 7200},
}
KINDS = {
    "training_job": "TrainingJob",
    "processing_job": "ProcessingJob",
    "hyper_parameter_tuning_job": "HyperParameterTuningJob",
}
ACCOUNT = "arn:aws:sagemaker:us-east-1:123456789012:"


def refusal(code: str, message: str = "", status: int = 400) -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}, "Call"
    )


class Time:
    def __init__(self):
        self.now = START

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Job:
    """A job of any kind; it waits for capacity until it is started."""

    def __init__(self, noun, request, made_for, now):
        self.noun, self.request, self.made_for, self.created = noun, request, made_for, now
        self.status, self.visible, self.tagged = "InProgress", False, False
        self.reason, self.secondary, self.started, self.ended = "", "", None, None
        self.selected = None

    @property
    def name(self):
        return self.request[f"{self.noun}Name"]

    def start(self, now, instance_type="ml.g5.48xlarge", count=4):
        self.started, self.selected, self.visible, self.tagged = now, (instance_type, count), True, True

    def end(self, status, now, reason="", secondary=""):
        self.status, self.reason, self.secondary = status, reason, secondary
        self.ended, self.visible, self.tagged = now, True, True
        if status == "Completed" and self.started is None:
            self.start(self.created + 60)

    def described(self):
        answer = copy.deepcopy(self.request) | {
            f"{self.noun}Arn": f"{ACCOUNT}{self.noun.lower()}/{self.name}",
            f"{self.noun}Status": self.status,
            "CreationTime": when(self.created),
        }
        answer |= {"FailureReason": self.reason} if self.reason else {}
        parts = {
            "TrainingJob": self.training,
            "ProcessingJob": self.processing,
            "HyperParameterTuningJob": self.tuning,
        }
        return answer | parts[self.noun](answer)

    def training(self, answer):
        resources = answer["ResourceConfig"]
        if self.selected and "InstancePreferences" in resources:
            resources |= dict(zip(("SelectedInstanceType", "SelectedInstanceCount"), self.selected, strict=True))
        more = {"SecondaryStatus": self.secondary or self.status}
        more |= {"TrainingStartTime": when(self.started)} if self.started else {}
        return more | ({"TrainingEndTime": when(self.ended)} if self.ended else {})

    def processing(self, answer):
        cluster = answer["ProcessingResources"]["ClusterConfig"]
        if self.selected and "InstancePreferences" in cluster:
            cluster |= dict(zip(("SelectedInstanceType", "SelectedInstanceCount"), self.selected, strict=True))
        more = {"ProcessingStartTime": when(self.started)} if self.started else {}
        return more | ({"ProcessingEndTime": when(self.ended)} if self.ended else {})

    def tuning(self, answer):
        done = {"Completed": int(self.status == "Completed"), "InProgress": int(self.status in LIVE)}
        best = {"BestTrainingJob": {"TrainingJobName": f"{self.name}-001"}} if self.status == "Completed" else {}
        ended = {"HyperParameterTuningEndTime": when(self.ended)} if self.ended else {}
        ran = (
            {"ConsumedResources": {"RuntimeInSeconds": int(self.ended - self.started)}}
            if self.ended and self.started
            else {}
        )
        return {"TrainingJobStatusCounters": done} | best | ended | ran


def when(t):
    return datetime.fromtimestamp(t, UTC)


class SageMaker:
    """Jobs whose ends, visibility and refusals the test decides; requests are held against the model."""

    def __init__(self, clock):
        self.clock = clock
        self.jobs: dict[str, Job] = {}
        self.plans: dict[str, dict] = {}
        self.refusals: list[ClientError] = []
        self.failing: dict[str, ClientError] = {}  # calls that fail, by method
        self.stops: list[str] = []  # every stop that was called, whatever became of it

    def call(self, method, request, made_for):
        operation = "".join(word.capitalize() for word in method.split("_"))
        try:
            check("sagemaker", operation, request)
        except ServiceError as error:
            raise refusal(error.code, error.message) from error
        if method in self.failing:
            raise self.failing[method]
        verb, _, noun = method.partition("_")
        if noun in KINDS:
            return getattr(self, verb)(KINDS[noun], request, made_for)
        return getattr(self, method)(request)

    def create(self, noun, request, made_for):
        if self.refusals:
            raise self.refusals.pop(0)
        job = Job(noun, request, made_for, self.clock.now)
        if job.name in self.jobs:
            raise refusal("ResourceInUse", "Job names must be unique")
        self.jobs[job.name] = job
        return {}

    def create_training_job(self, request, made_for):
        """Somebody else creates a job, or a create arrives that nobody waits for."""
        return self.create("TrainingJob", request, made_for)

    def describe(self, noun, request, _):
        return self.seen(noun, request).described()

    def stop(self, noun, request, _):
        job = self.seen(noun, request)
        self.stops.append(job.name)
        if job.status not in LIVE:
            raise refusal("ValidationException", f"the job is in status {job.status}")
        job.status = "Stopping"
        return {}

    def list_tags(self, request):
        job = self.jobs[request["ResourceArn"].rpartition("/")[2]]
        return {"Tags": job.request.get("Tags", []) if job.tagged or self.old(job) else []}

    def list_training_jobs_for_hyper_parameter_tuning_job(self, request):
        job = self.jobs[request["HyperParameterTuningJobName"]]
        summary = {"TrainingJobName": f"{job.name}-001", "CreationTime": when(job.created)}
        summary |= {"TrainingStartTime": when(job.started)} if job.started else {}
        return {"TrainingJobSummaries": [summary]}

    def describe_training_plan(self, request):
        if request["TrainingPlanName"] not in self.plans:
            raise refusal("ResourceNotFound", "no such plan")
        return self.plans[request["TrainingPlanName"]]

    def old(self, job):
        """Whether whatever lags has caught up."""
        return self.clock.now - job.created > LAG

    def seen(self, noun, request):
        job = self.jobs.get(request[f"{noun}Name"])
        if job is None or job.noun != noun or not (job.visible or self.old(job)):
            absent = "ValidationException" if noun == "TrainingJob" else "ResourceNotFound"
            raise refusal(absent, "Requested resource not found.")
        return job

    def live(self):
        return [name for name, job in self.jobs.items() if job.status in LIVE]


@pytest.fixture(scope="module")
def dynamodb():
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        yield botocore.session.get_session().create_client("dynamodb")


@pytest.fixture(scope="session")
def create_run_table():
    """Create a run table as the kit declares it."""

    def create(client, name):
        keys = {name: {"AttributeName": name, "AttributeType": "S"} for name in ("name", "open", "execution")}
        client.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}],
            AttributeDefinitions=[*keys.values(), {"AttributeName": "updated", "AttributeType": "N"}],
            GlobalSecondaryIndexes=[
                {"IndexName": index, "KeySchema": _key(index, sort), "Projection": {"ProjectionType": "ALL"}}
                for index, sort in (("open", "updated"), ("execution", "name"))
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        return name

    return create


@pytest.fixture
def make_table(dynamodb, create_run_table):
    """Make run tables in moto's DynamoDB."""
    names = []

    def make():
        names.append(create_run_table(dynamodb, f"runs-{len(names)}"))
        return names[-1]

    yield make
    for name in names:
        dynamodb.delete_table(TableName=name)


@pytest.fixture
def table(make_table):
    return make_table()


def _key(partition, sort):
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]


@pytest.fixture
def make_sagemaker():
    return lambda: SageMaker(Time())


@pytest.fixture
def sagemaker(make_sagemaker):
    return make_sagemaker()


@pytest.fixture(scope="session")
def plain_request():
    """A CreateTrainingJob request without the name, as a state holds it; not to be changed."""
    return REQUEST


@pytest.fixture
def training_request(plain_request):
    """The same, to be changed."""
    return copy.deepcopy(plain_request)


@pytest.fixture
def refused():
    """Make the error of an AWS call: code, message, status."""
    return refusal


def _explore(model, limit=1_500_000):
    start = model.start
    parent, back, order = {start: None}, {start: []}, [start]
    for s in order:  # grows while it is walked: breadth first
        if broken := model.broken(s):
            return len(parent), _trace(parent, s, broken)
        for label, t in model.steps(s):
            if t not in parent:
                assert len(parent) < limit, "the model is too large to be explored"
                parent[t], back[t] = (s, label), []
                order.append(t)
            if label[0] != "!":
                back[t].append(s)
    todo = [s for s in order if model.goal(s)]
    can_end = set(todo)
    while todo:
        new = set(back[todo.pop()]) - can_end
        can_end |= new
        todo.extend(new)
    stuck = next((s for s in order if s not in can_end), None)
    return len(parent), None if stuck is None else _trace(parent, stuck, "stuck for ever")


def _trace(parent, s, last):
    labels = [last]
    while parent[s] is not None:
        s, label = parent[s]
        labels.append(label)
    return labels[::-1]


@pytest.fixture(scope="session")
def explore():
    """Walk every state of a model; return how many there are and the shortest trace to what is broken, or None.

    A model has ``start``, ``steps(state)`` with labels (``!`` begins those of faults), ``broken(state)`` and
    ``goal(state)``: a state from which no goal can be reached without faults is stuck.
    """
    return _explore
