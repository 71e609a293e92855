"""What the adapter makes of SageMaker's answers, with a real client over real HTTP."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from constructs_lib.facts.calls import call_errors
from constructs_lib.model import FailureClass
from constructs_lib.model.job_kinds import JOB_KINDS
from constructs_lib.runtime.adapters.clients import CALL_LIFE, clients, require_model
from constructs_lib.runtime.adapters.jobs import Jobs
from constructs_lib.runtime.errors import CallRefusedError, CallThrottledError, JobExistsError, LaunchUnclear

pytestmark = pytest.mark.slow

ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-job/a-1"


class Answers:
    """A server that gives planned answers, (status, code, message), a body, or "drop"; it keeps the requests."""

    def __init__(self):
        self.planned, self.requests = [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.headers["X-Amz-Target"].partition(".")[2], body))
                answer = outer.planned.pop(0) if len(outer.planned) > 1 else outer.planned[0]
                if answer == "drop":
                    return
                status, content = (200, answer) if isinstance(answer, dict) else (answer[0], error_of(*answer))
                data = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def calls(self, operation):
        return [body for name, body in self.requests if name == operation]


def error_of(_, code, message):
    return {"__type": code, "message": message}


@pytest.fixture(scope="module")
def server():
    with pytest.MonkeyPatch.context() as patch:
        answers = Answers()
        patch.setenv("AWS_ENDPOINT_URL", answers.url)
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        yield answers
        answers.server.shutdown()
        answers.server.server_close()


@pytest.fixture
def aws(server):
    server.planned, server.requests = [], []
    return server


@pytest.fixture(scope="module")
def made(server):
    return clients()


@pytest.fixture
def jobs(aws, made):
    return Jobs(made["create"], made["sagemaker"], require_model)


@pytest.fixture
def request_of_a_job(training_request):
    return training_request | {"TrainingJobName": "a-1"}


def described(status="InProgress"):
    return {"TrainingJobName": "a-1", "TrainingJobArn": ARN, "TrainingJobStatus": status, "ResourceConfig": {}}


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((400, "ResourceInUse", "Training job names must be unique"), JobExistsError),
        ((400, "ResourceLimitExceeded", "is 0 Instances"), CallRefusedError),
        ((400, "ValidationException", "no such role"), CallRefusedError),
        ((400, "AccessDeniedException", "not authorized to perform"), CallRefusedError),
        ((400, "ThrottlingException", "Rate exceeded"), CallThrottledError),
        ((429, "TooManyRequestsException", "slow down"), CallThrottledError),
        ((500, "InternalFailure", "try again"), LaunchUnclear),
        ((503, "ServiceUnavailable", "try again"), LaunchUnclear),
        ((503, "ThrottlingException", "perhaps done"), LaunchUnclear),
        ((500, "ResourceLimitExceeded", "perhaps done"), LaunchUnclear),
        ((400, "SomethingNewException", "?"), LaunchUnclear),
        ("drop", LaunchUnclear),
    ],
    ids=str,
)
def test_the_create_is_called_once_and_its_answer_means(aws, jobs, request_of_a_job, answer, error):
    aws.planned = [answer]
    with pytest.raises(error):
        jobs.create(JOB_KINDS["training"], request_of_a_job)
    assert aws.calls("CreateTrainingJob") == [request_of_a_job]


@pytest.mark.parametrize("kind", ["processing", "tuning"])
def test_the_calls_of_every_kind_are_its_own(aws, jobs, kind):
    noun = JOB_KINDS[kind].noun
    aws.planned = [{f"{noun}Name": "a-1", f"{noun}Arn": ARN, f"{noun}Status": "InProgress"}]
    assert jobs.find(kind, "a-1").runs
    jobs.stop(kind, "a-1")
    assert [name for name, _ in aws.requests] == [f"Describe{noun}", f"Stop{noun}"]
    aws.planned = [(400, "ResourceNotFound", "no")]
    assert jobs.find(kind, "a-1") is None


def test_every_error_that_the_model_gives_the_create_is_known_and_has_a_class(made):
    operation = made["create"].meta.service_model.operation_model("CreateTrainingJob")
    assert {shape.name for shape in operation.error_shapes} <= set(call_errors())
    for known in call_errors().values():
        assert known.outcome in {"exists", "refused", "throttled"}
        assert known.outcome == "exists" or FailureClass(known.failure_class)


def test_a_create_that_nobody_listens_to_is_unclear(aws, monkeypatch, request_of_a_job):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    made = clients()
    jobs = Jobs(made["create"], made["sagemaker"], require_model)
    with pytest.raises(LaunchUnclear, match="the same launch is repeated"):
        jobs.create(JOB_KINDS["training"], request_of_a_job)


def test_a_request_that_the_client_itself_refuses_is_a_refusal(aws, jobs, request_of_a_job):
    aws.planned = [{}]
    with pytest.raises(CallRefusedError, match="Unknown parameter") as refused:
        jobs.create(JOB_KINDS["training"], request_of_a_job | {"InstanceTypes": []})
    assert refused.value.failure == "config"
    assert not aws.requests


def test_what_may_happen_twice_is_repeated_by_the_client(aws, jobs):
    aws.planned = [(500, "InternalFailure", "try again"), (400, "ThrottlingException", "Rate exceeded"), described()]
    assert jobs.find("training", "a-1").status == "InProgress"
    assert len(aws.calls("DescribeTrainingJob")) == 3


@pytest.mark.parametrize(
    "answer",
    [
        (400, "ResourceNotFound", "no"),
        (400, "ValidationException", "Requested resource not found."),
        (400, "ValidationException", "Could not find requested job with name: a-1"),
        (400, "ValidationException", "The job a-1 does not exist."),
    ],
)
def test_a_job_that_does_not_exist_is_none(aws, jobs, answer):
    aws.planned = [answer]
    assert jobs.find("training", "a-1") is None


def test_a_description_that_is_refused_is_an_error_and_not_an_absent_job(aws, jobs, refused):
    aws.planned = [(400, "AccessDeniedException", "not authorized")]
    with pytest.raises(type(refused("x")), match="AccessDenied"):
        jobs.find("training", "a-1")


@pytest.mark.parametrize("status", ["Completed", "Failed", "Stopped", "Stopping"])
def test_stopping_a_job_that_ended_or_stops_already_is_fine(aws, jobs, status):
    aws.planned = [(400, "ValidationException", f"the job is in status {status}"), described(status)]
    jobs.stop("training", "a-1")


def test_a_stop_that_is_refused_while_the_job_runs_is_an_error(aws, jobs, refused):
    aws.planned = [(400, "AccessDeniedException", "not authorized"), described()]
    with pytest.raises(type(refused("x")), match="AccessDenied"):
        jobs.stop("training", "a-1")


def test_tags_are_read_to_the_last_page(aws, jobs):
    aws.planned = [described()]
    job = jobs.find("training", "a-1")
    aws.planned = [{"Tags": [{"Key": "a", "Value": "1"}], "NextToken": "n"}, {"Tags": [{"Key": "b", "Value": "2"}]}]
    assert jobs.tags(job) == {"a": "1", "b": "2"}
    assert aws.calls("ListTags") == [{"ResourceArn": ARN}, {"ResourceArn": ARN, "NextToken": "n"}]


def test_a_status_that_nobody_knows_yet_is_not_taken_for_an_end(aws, jobs):
    aws.planned = [described("Hibernating")]
    assert not jobs.find("training", "a-1").terminal
    aws.planned = [{key: value for key, value in described().items() if key != "TrainingJobStatus"}]
    assert not jobs.find("training", "a-1").terminal


def test_no_call_lives_as_long_as_the_function_that_makes_it(made):
    for client in made.values():
        config = client.meta.config
        attempts = config.retries["total_max_attempts"]
        assert attempts * (config.connect_timeout + config.read_timeout) < 30
    assert CALL_LIFE >= 2 * 23


# --- the self-check of the model


@pytest.fixture
def model_without(tmp_path, monkeypatch, aws):
    """Let clients find a service model that was changed."""

    def change(edit):
        import botocore.session  # noqa: PLC0415  only here

        model = botocore.session.get_session().get_component("data_loader").load_service_model("sagemaker", "service-2")
        model = json.loads(json.dumps(model))
        edit(model["shapes"])
        folder = tmp_path / "sagemaker" / "2017-07-24"
        folder.mkdir(parents=True)
        (folder / "service-2.json").write_text(json.dumps(model))
        monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path))
        return clients()["create"]

    return change


def test_the_pinned_model_passes_the_self_check(aws, monkeypatch):
    import constructs_lib.runtime  # noqa: PLC0415  only for its path

    monkeypatch.setenv("AWS_DATA_PATH", f"{constructs_lib.runtime.__path__[0]}/service_models")
    client = clients()["create"]
    require_model(client)
    assert "pruned" in client.meta.service_model.documentation


def test_a_model_without_preferences_is_refused_with_what_was_found_and_what_is_needed(model_without):
    client = model_without(lambda shapes: shapes["ResourceConfig"]["members"].pop("InstancePreferences"))
    with pytest.raises(Exception, match=r"botocore 1\.\d+\.\d+ lacks ResourceConfig.InstancePreferences; .* 1.44.8"):
        require_model(client)


def test_a_model_with_the_old_pending_limit_is_refused(model_without):
    client = model_without(lambda shapes: shapes["MaxPendingTimeInSeconds"].update(min=7200))
    with pytest.raises(Exception, match=r"from 1800 seconds \(it says 7200\)"):
        require_model(client)
