"""The log line of a run is what CloudWatch's embedded metric format asks for."""

from __future__ import annotations

import json

import pytest

from constructs_lib.model import RunEnd, RunRecord
from constructs_lib.runtime.identity import Identity
from constructs_lib.runtime.run_table import Row
from constructs_lib.runtime.telemetry import NAMESPACE, run_line

AT = 1_700_000_000.5
RAN = RunRecord(
    job_name="Lab-Tune-1",
    status="Completed",
    end=RunEnd.COMPLETED,
    rank=2,
    instance_type="ml.g5.48xlarge",
    instance_count=4,
    reserved=False,
    reason="cheaper",
    pending_seconds=90.0,
    runtime_seconds=600.0,
    billable_seconds=600,
)
# The specification's schema of the "_aws" object (CloudWatch user guide, embedded metric format), in our words.
ALLOWED_UNITS = {"Seconds", "Count", "None"}


@pytest.fixture
def line():
    """The parsed line of a record."""
    identity = Identity("Lab-Tune", "arn:aws:states:us-east-1:1:execution:Lab-Tune:e", "Launch", {"redrive": 0})
    row = Row("Lab-Tune-1", identity, 0, "t", AT, AT, None, (), creating=True, refused=None, record={})

    def parse(record):
        text = run_line(row, record, AT)
        assert "\n" not in text
        return json.loads(text)

    return parse


def metrics_of(line):
    """Read a line as CloudWatch does, {(metric, dimension names): (value, values)}, and refuse what it drops."""
    assert isinstance(line["_aws"]["Timestamp"], int)
    found = {}
    for directive in line["_aws"]["CloudWatchMetrics"]:
        assert set(directive) == {"Namespace", "Dimensions", "Metrics"}
        assert directive["Namespace"] == NAMESPACE == "GpuCapacity"
        assert 1 <= len(directive["Metrics"]) <= 100
        for metric in directive["Metrics"]:
            assert metric["Unit"] in ALLOWED_UNITS
            assert isinstance(line[metric["Name"]], int | float)
            for names in directive["Dimensions"]:
                values = [line[name] for name in names]  # each must be there
                assert all(isinstance(value, str) and 1 <= len(value) <= 1024 for value in values)
                found[metric["Name"], tuple(names)] = line[metric["Name"]], values
    return found


def test_a_run_is_counted_by_its_end_and_measured_by_machine_and_type(line):
    machine, typed = ("Machine",), ("Machine", "InstanceType")
    found = metrics_of(line(RAN))
    assert found["Ended", ("Machine", "End")] == (1, ["Lab-Tune", "Completed"])
    assert found["Ended", machine] == (1, ["Lab-Tune"])
    for name, value in {
        "PendingSeconds": 90,
        "RuntimeSeconds": 600,
        "BillableInstanceSeconds": 2400,
        "Rank": 2,
    }.items():
        assert found[name, machine] == (value, ["Lab-Tune"])
        assert found[name, typed] == (value, ["Lab-Tune", "ml.g5.48xlarge"])
    assert len(found) == 10


def test_the_line_holds_the_whole_record_and_the_moment(line):
    parsed = line(RAN)
    assert parsed["run"] == RAN.to_dict()
    assert parsed["_aws"]["Timestamp"] == 1_700_000_000_500
    assert parsed["execution"].endswith(":e")


def test_a_run_without_a_job_has_no_measurements_and_no_type(line):
    parsed = line(RunRecord.not_created("Lab-Tune-1", RunEnd.QUOTA_EXCEEDED, "ResourceLimitExceeded: 0 Instances"))
    assert set(metrics_of(parsed)) == {("Ended", ("Machine", "End")), ("Ended", ("Machine",))}
    assert "InstanceType" not in parsed


def test_a_line_that_cloudwatch_would_drop_is_noticed(line):
    parsed = line(RAN)
    del parsed["InstanceType"]
    with pytest.raises(KeyError):
        metrics_of(parsed)
