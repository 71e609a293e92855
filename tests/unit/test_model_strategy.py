"""Which failures another step may help against."""

from __future__ import annotations

import pytest

from constructs_lib.model import FailureClass, RunEnd, RunRecord, end_of, goes_on

GOES_ON = {("capacity", "stop"), ("capacity", "drop"), ("quota", "drop")}


@pytest.mark.parametrize("on_quota", ["stop", "drop"])
@pytest.mark.parametrize("failure", FailureClass)
def test_scarcity_goes_on_a_missing_quota_as_declared_and_nothing_else(failure, on_quota):
    record = RunRecord.not_created("a-1", end_of(failure), failure=failure)
    assert goes_on(record, on_quota=on_quota) == ((str(failure), on_quota) in GOES_ON)


@pytest.mark.parametrize("end", [end for end in RunEnd if end is not RunEnd.INSUFFICIENT_CAPACITY])
def test_an_end_without_a_failure_ends_the_launch(end):
    assert not goes_on(RunRecord.not_created("a-1", end))
