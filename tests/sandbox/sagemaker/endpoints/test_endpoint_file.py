"""What a capacity file says of endpoints."""

import pytest

from constructs_lib.sandbox.errors import SandboxError
from constructs_lib.sandbox.sagemaker import Capacity
from constructs_lib.sandbox.sagemaker.seeds import EndpointTimes

FILE = """\
endpoint:
  create: 10m
  capacity_wait: 1h
  overrides:
    "broken-*": {fail: no ping, create: 90s}
    chat: {delete: 0s}
"""


def test_times_are_told_in_general_and_by_the_first_pattern_that_knows_a_name():
    capacity = Capacity.parse(FILE)
    assert capacity.endpoint_times("blue", "other") == EndpointTimes(create=600, capacity_wait=3600)
    assert capacity.endpoint_times("blue", "chat") == EndpointTimes(create=600, capacity_wait=3600, delete=0)
    assert capacity.endpoint_times("broken-1", "chat").fail == "no ping"
    assert Capacity().endpoint_times("any") == EndpointTimes(300, 360, 120, 120, 60, 1800, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("endpoint: 5m", "file:1: endpoint: '5m' is not allowed; give a mapping with the keys create, update, scale,"),
        ("endpoint: {create: 5}", "file:1: endpoint.create: '5' is not allowed; give a number with its unit"),
        ("endpoint:\n  creat: 5m", "file:2: endpoint.creat: unknown key; .* did you mean create?"),
        ("endpoint: {overrides: [a]}", "give a mapping of name patterns, such as 'chat-\\*': {create: 10m}"),
        ("endpoint:\n  overrides:\n    a: {runtime: 5m}", "file:3: endpoint.overrides.a.runtime: unknown key"),
    ],
)
def test_a_mistake_is_told_with_its_place(text, words):
    with pytest.raises(SandboxError, match=words):
        Capacity.parse(text, "file")


def test_quotas_on_endpoints_are_known():
    name = "ml.g5.48xlarge for endpoint usage"
    assert Capacity.of({"quotas": {name: 4}}).quotas == {name: 4}
