import contextlib
import http.client
import json
import threading
import time

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from werkzeug.serving import make_server

from constructs_lib.sandbox.clock import Clock
from constructs_lib.sandbox.context import Context
from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.faults import Faults
from constructs_lib.sandbox.protocol import error_response, json_response, read_call
from constructs_lib.sandbox.sagemaker import CONTROL_PREFIX, Capacity, Control, SageMaker

P5, P4D = "ml.p5.48xlarge", "ml.p4d.24xlarge"


def front(sagemaker):
    """Return a WSGI application that speaks AWS's JSON protocol, and the control paths, as the sandbox does."""
    control = Control(sagemaker).app

    def app(environ, start_response):
        if environ["PATH_INFO"].startswith(CONTROL_PREFIX):
            return control(environ, start_response)
        call = read_call(environ)
        try:
            status, headers, body = json_response(sagemaker.handle(call.operation, call.request))
        except ServiceError as error:
            status, headers, body = error_response(call, error)
        start_response(f"{status} answer", [*headers.items(), ("Content-Length", str(len(body)))])
        return [body]

    return app


@pytest.fixture
def served(world):
    """Return a world and a botocore client that talks to it over HTTP."""
    one = world({"types": {P5: 0, P4D: 8}})
    server = make_server("127.0.0.1", 0, front(one.sagemaker), threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    client = botocore.session.get_session().create_client(
        "sagemaker",
        region_name="us-east-1",
        endpoint_url=f"http://127.0.0.1:{server.server_port}",
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=Config(retries={"total_max_attempts": 1}, proxies={}),
    )
    yield one, client
    server.shutdown()
    thread.join()
    server.server_close()


def test_botocore_reads_a_description_over_http(served):
    one, client = served
    request = one.request(preferences=[(P5, 4), (P4D, 8)])
    assert client.create_training_job(**request)["TrainingJobArn"].endswith(":training-job/job")
    one.go(hours=1)
    described = client.describe_training_job(TrainingJobName="job")
    assert described["ResourceConfig"]["SelectedInstanceType"] == P4D
    assert (described["TrainingEndTime"] - described["TrainingStartTime"]).total_seconds() == 33 * 60
    assert described["SecondaryStatusTransitions"][-1]["Status"] == "Completed"
    (summary,) = client.list_training_jobs(CreationTimeAfter=described["CreationTime"].replace(year=2020))[
        "TrainingJobSummaries"
    ]
    assert summary["TrainingEndTime"] == described["TrainingEndTime"]


def test_botocore_reads_an_error_over_http(served):
    one, client = served
    client.create_training_job(**one.request())
    with pytest.raises(client.exceptions.ResourceInUse, match="Job name must be unique"):
        client.create_training_job(**one.request())
    with pytest.raises(ClientError) as refused:
        client.create_compilation_job(
            CompilationJobName="c",
            RoleArn="arn:aws:iam::123456789012:role/x",
            OutputConfig={"S3OutputLocation": "s3://bucket/"},
            StoppingCondition={"MaxRuntimeInSeconds": 900},
        )
    assert refused.value.response["Error"]["Code"] == "UnknownOperationException"


def ask(client, path, body=None):
    """Return the status and the answer of a control path."""
    port = int(client.meta.endpoint_url.rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET" if body is None else "POST", CONTROL_PREFIX + path, body)
    response = connection.getresponse()
    status, answer = response.status, json.loads(response.read())
    connection.close()
    return status, answer


def test_evaluations_are_read_and_capacity_is_set_over_http(served):
    one, client = served
    client.create_training_job(**one.request(preferences=[(P5, 8)]))
    assert ask(client, "free", json.dumps({"instance_type": P5, "free": 8})) == (200, None)
    status, looks = ask(client, "evaluations/job")
    assert (status, [(look["free"], look["outcome"]) for look in looks]) == (200, [(0, "no capacity"), (8, "selected")])


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("free", "{", 400, "give a JSON body such as"),
        ("free", '{"instance_type": "ml.p5.48xlarge"}', 400, "give a JSON body such as"),
        ("free", '{"instance_type": "ml.p5.48xlarge", "free": -1}', 400, "can not be free: give 0 or more"),
        ("evaluations", None, 404, "has GET evaluations/<job>, invocations/<endpoint>,"),
    ],
)
def test_a_wrong_control_request_is_refused_in_words(served, path, body, status, words):
    answered, answer = ask(served[1], path, body)
    assert answered == status
    assert words in answer["message"]


def test_every_request_is_logged_with_its_virtual_time(world):
    one = world()
    start = one.clock.now()
    one.create()
    one.go(minutes=1)
    with pytest.raises(Exception, match="Requested resource not found"):
        one.describe("nobody")
    assert [(t - start, operation) for t, operation, _ in one.sagemaker.requests] == [
        (0, "CreateTrainingJob"),
        (60, "DescribeTrainingJob"),
    ]
    assert one.sagemaker.requests[0][2] == one.request()


def test_an_answer_is_the_callers_to_change(world):
    one = world()
    request = one.request(preferences=[(P5, 8)])
    one.call("CreateTrainingJob", **request)
    request["ResourceConfig"]["InstancePreferences"].clear()
    one.describe()["ResourceConfig"]["InstancePreferences"].clear()
    one.describe()["SecondaryStatusTransitions"].clear()
    assert len(one.describe()["ResourceConfig"]["InstancePreferences"]) == 1
    assert len(one.describe()["SecondaryStatusTransitions"]) == 1


def test_a_thousand_waiting_jobs_are_evaluated_within_a_second_and_without_threads(world):
    one = world({"types": {P5: 0, P4D: 0}})
    for number in range(1000):
        one.sagemaker.handle("CreateTrainingJob", one.request(f"job-{number}", preferences=[(P5, 8), (P4D, 8)]))
    threads = threading.active_count()
    began = time.process_time()
    one.sagemaker.set_free(P4D, 8 * 500)
    assert time.process_time() - began < 1
    assert threading.active_count() == threads
    assert [one.status(f"job-{number}")[1] for number in (0, 499, 500, 999)] == ["Starting"] * 2 + ["Pending"] * 2
    # Two looks for each that came and each that was served, and two at the first that could not be.
    assert sum(len(one.sagemaker.evaluations(f"job-{number}")) for number in range(1000)) == 2000 + 1000 + 2


@pytest.fixture
def real():
    """Return a maker of a SageMaker on a real clock, with the list its events go to."""
    clock = Clock(speed=3600)

    def make(document):
        events = []
        context = Context(clock, Faults(), lambda *event: events.append(event), lambda _: None)
        return SageMaker(context, Capacity.of(document)), events

    yield make
    clock.close()


def test_an_accelerated_clock_drives_jobs_without_requests_and_exactly(real, world):
    sagemaker, events = real({"types": {P5: [{"at": "25m", "free": 8}]}})
    request = world().request(preferences=[(P5, 8)])
    sagemaker.handle("CreateTrainingJob", request)
    deadline = time.monotonic() + 20
    while (not events or events[-1][2]["SecondaryStatus"] != "Completed") and time.monotonic() < deadline:
        time.sleep(0.02)
    last = events[-1][2]
    assert last["SecondaryStatus"] == "Completed"
    assert last["TrainingEndTime"] - last["TrainingStartTime"] == 33 * 60 * 1000  # to the millisecond, at 3600 times
    starting = next(row for row in last["SecondaryStatusTransitions"] if row["Status"] == "Starting")
    assert last["TrainingStartTime"] - starting["StartTime"] == 60 * 1000


def test_threads_that_create_and_stop_at_once_never_get_more_than_there_is(real, world):
    sagemaker, _ = real(
        {"types": {P5: 20}, "job": {"start": "10s", "download": "10s", "runtime": "30s", "upload": "10s"}}
    )
    maker, failures = world(), []

    def work(number):
        try:
            for turn in range(10):
                name = f"job-{number}-{turn}"
                sagemaker.handle("CreateTrainingJob", maker.request(name, preferences=[(P5, 3)]))
                if turn % 3 == 0:
                    with contextlib.suppress(ServiceError):  # it may have ended before
                        sagemaker.handle("StopTrainingJob", {"TrainingJobName": name})
        except Exception as error:  # noqa: BLE001  shown by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    looks = [row for n in range(8) for t in range(10) for row in sagemaker.evaluations(f"job-{n}-{t}")]
    assert {row["free"] >= 0 for row in looks} == {True}
    assert {row["free"] % 3 for row in looks} == {2}  # 20, less whole jobs
