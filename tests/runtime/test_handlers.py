"""What Lambda calls: routes, and the custom resource's answer over HTTP."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from constructs_lib.model import InvalidInputError
from constructs_lib.runtime import composition
from constructs_lib.runtime.handlers import drain, launcher, plan_watcher, training_plan

EVENT = {
    "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/lab/1",
    "RequestId": "r",
    "LogicalResourceId": "Drain",
    "ResourceProperties": {"TableName": "runs"},
}


class CloudFormation:
    """Takes answers of custom resources; fails as often as it is told."""

    def __init__(self):
        self.answers, self.types, self.failures = [], [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                failure = outer.failures.pop(0) if outer.failures else None
                if failure == "drop":
                    return
                if failure is None:
                    outer.answers.append((self.path, json.loads(body)))
                    outer.types.append(self.headers["Content-Type"])
                self.send_response(failure or 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/answer?signature=s"


@pytest.fixture
def cloudformation(monkeypatch):
    cloudformation = CloudFormation()
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    yield cloudformation
    cloudformation.server.shutdown()
    cloudformation.server.server_close()


class Draining:
    def __init__(self, left=(), error=None):
        self.left, self.error, self.done = list(left), error, []

    def allow(self):
        self.done.append("allow")
        if self.error:
            raise self.error

    def drain(self):
        self.done.append("drain")
        if self.error:
            raise self.error
        return self.left


def test_creating_and_updating_only_allow_launches_and_never_fail(refused):
    for request in ("Create", "Update"):
        for error in (None, refused("AccessDeniedException")):
            draining = Draining(["a job"], error)
            assert drain.outcome(request, draining) is None
            assert draining.done == ["allow"]


def test_deleting_says_what_still_runs(refused):
    assert drain.outcome("Delete", Draining()) is None
    words = drain.outcome("Delete", Draining(["Lab-1 (Stopping)", "Lab-2 (Pending)"]))
    assert "2 jobs" in words
    assert "Lab-1 (Stopping), Lab-2 (Pending)" in words


def test_deleting_fails_in_words_if_the_table_cannot_be_read_but_not_if_it_is_gone(refused):
    assert "could not be read" in drain.outcome("Delete", Draining(error=refused("AccessDeniedException", "no")))
    assert drain.outcome("Delete", Draining(error=refused("ResourceNotFoundException"))) is None


@pytest.mark.parametrize(("failure", "status"), [(None, "SUCCESS"), ("x" * 9000, "FAILED")])
def test_the_answer_is_small_has_the_constant_id_and_no_content_type(cloudformation, failure, status):
    drain.respond(EVENT | {"ResponseURL": cloudformation.url, "PhysicalResourceId": "another"}, failure)
    ((path, answer),) = cloudformation.answers
    assert path == "/answer?signature=s"
    assert answer["Status"] == status
    assert answer["PhysicalResourceId"] == "gpu-capacity-drain"
    assert (answer["StackId"], answer["RequestId"], answer["LogicalResourceId"]) == (EVENT["StackId"], "r", "Drain")
    assert len(json.dumps(answer)) < 4096
    assert cloudformation.types == [""]


def test_an_answer_that_does_not_arrive_is_sent_again_and_at_last_raises(cloudformation):
    event = EVENT | {"ResponseURL": cloudformation.url}
    cloudformation.failures = ["drop", 503]
    drain.respond(event, None)
    assert len(cloudformation.answers) == 1
    cloudformation.failures = [503] * 4
    with pytest.raises(ConnectionError, match="did not take the answer"):
        drain.respond(event, None)


def test_deleting_a_training_plan_is_answered_with_its_id_and_calls_nothing(cloudformation):
    arn = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"
    event = EVENT | {"ResponseURL": cloudformation.url, "RequestType": "Delete", "PhysicalResourceId": arn}
    training_plan.handler(event, SimpleNamespace(get_remaining_time_in_millis=lambda: 300_000))
    ((_, answer),) = cloudformation.answers
    assert (answer["Status"], answer["PhysicalResourceId"]) == ("SUCCESS", arn)
    assert "cannot be cancelled" in answer["Reason"]


def test_the_watcher_says_how_many_purchases_it_looked_at(monkeypatch):
    watching = SimpleNamespace(watch=len)
    monkeypatch.setattr(plan_watcher, "services", lambda: SimpleNamespace(watching=lambda: watching))
    assert plan_watcher.handler({"identities": ["nightly", "serving"]}, None) == {"purchases": 2}


def services(done):
    def note(name):
        return lambda argument=None: done.append((name, getattr(argument, "name", argument))) or name

    return SimpleNamespace(
        launching=SimpleNamespace(launch=note("launch"), stop=note("stop")),
        completion=SimpleNamespace(heard_of=note("heard of")),
        sweeping=SimpleNamespace(sweep=note("sweep"), execution_ended=note("execution ended")),
        starting=SimpleNamespace(start=note("start")),
    )


def test_events_go_by_their_shape():
    done = []
    payload = {
        "job": "Lab-Tune-0011aabb",
        "token": "t",
        "execution": "arn:aws:states:us-east-1:123456789012:execution:m:e",
        "state": "Launch",
        "try": 0,
        "reason": "TimedOut",
        "request": {},
    }
    for event in (
        payload | {"action": "launch"},
        payload | {"action": "stop"},
        {"action": "sweep"},
        {"source": "aws.sagemaker", "detail": {"TrainingJobName": "a-1", "TrainingJobStatus": "Failed"}},
        {"source": "aws.states", "detail": {"executionArn": "arn", "status": "ABORTED"}},
    ):
        launcher.route(event, services(done))
    assert [name for name, _ in done] == ["launch", "stop", "sweep", "heard of", "execution ended"]
    assert done[0][1] == done[1][1]
    assert [argument for _, argument in done[3:]] == ["a-1", "arn"]


@pytest.mark.parametrize("noun", ["TrainingJob", "ProcessingJob", "HyperParameterTuningJob"])
def test_the_end_of_every_kind_of_job_is_heard(noun):
    done = []
    event = {"source": "aws.sagemaker", "detail": {f"{noun}Name": "a-1", f"{noun}Status": "Completed"}}
    assert launcher.route(event, services(done)) == {"job": "a-1"}
    assert done == [("heard of", "a-1")]


def test_a_start_on_a_plan_says_what_was_done():
    event = {"action": "start", "plan": "arn", "machine": "m", "starts": ""}
    assert launcher.route(event, services([])) == {"plan": "arn", "did": "start"}


@pytest.mark.parametrize(
    "event", [{}, {"action": "dance"}, {"source": "aws.sagemaker", "detail": {"EndpointName": "e"}}]
)
def test_an_event_of_no_known_shape_is_refused_with_the_known_ones(event):
    with pytest.raises(InvalidInputError, match="launch, stop, sweep, start"):
        launcher.route(event, services([]))


def test_a_setting_that_is_missing_is_named(monkeypatch):
    monkeypatch.delenv("GPUCAP_RUN_TABLE", raising=False)
    with pytest.raises(InvalidInputError, match="GPUCAP_RUN_TABLE is not set"):
        composition.setting("GPUCAP_RUN_TABLE")
