"""Quotas are listed to the end and kept for an hour; what could not be asked is asked again."""

from __future__ import annotations

import pytest

from constructs_lib.runtime.adapters.look_ups import LookUps
from constructs_lib.runtime.errors import LookUpError


class Quotas:
    """Service Quotas with a page a quota."""

    def __init__(self, clock, values):
        self.clock, self.values, self.calls, self.failing, self.slow = clock, values, 0, None, 0

    def list_service_quotas(self, *, ServiceCode, MaxResults, NextToken="0"):  # noqa: N803  AWS's names
        assert (ServiceCode, MaxResults) == ("sagemaker", 100)
        self.calls += 1
        self.clock.sleep(self.slow)
        if self.failing:
            raise self.failing
        names, at = list(self.values), int(NextToken)
        page = {"Quotas": [{"QuotaName": names[at], "Value": self.values[names[at]]}]}
        return page | ({"NextToken": str(at + 1)} if at + 1 < len(names) else {})


@pytest.fixture
def quotas(sagemaker):
    return Quotas(sagemaker.clock, {"a": 1.0, "b": 2.0, "c": 3.0})


@pytest.fixture
def look_ups(quotas):
    return LookUps(None, lambda: quotas, None, quotas.clock)


def test_quotas_are_listed_once_to_the_last_page_and_again_after_an_hour(look_ups, quotas):
    assert [look_ups.quota(name) for name in "abc"] == [1.0, 2.0, 3.0]
    assert quotas.calls == 3
    quotas.values["c"] = 4.0
    assert look_ups.quota("c") == 3.0
    quotas.clock.sleep(3601)
    assert look_ups.quota("c") == 4.0
    assert quotas.calls == 6


def test_a_quota_that_no_page_names_is_not_taken_for_zero(look_ups):
    with pytest.raises(LookUpError, match="no quota is called 'd'"):
        look_ups.quota("d")


def test_a_listing_that_failed_is_said_and_tried_again_by_the_next_question(look_ups, quotas, refused):
    quotas.failing = refused("TooManyRequestsException", "slow down")
    with pytest.raises(LookUpError, match="could not be listed \\(TooManyRequestsException: slow down\\)"):
        look_ups.quota("a")
    quotas.failing = None
    assert look_ups.quota("a") == 1.0


def test_a_listing_that_takes_too_long_is_given_up_and_what_was_seen_counts(look_ups, quotas):
    quotas.slow = 10
    assert look_ups.quota("a") == 1.0
    with pytest.raises(LookUpError, match="could not all be listed in time"):
        look_ups.quota("c")
