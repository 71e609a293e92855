"""Failures are told apart, so that quota is not taken for scarcity nor scarcity for an error."""

import pytest

from constructs_lib.model import FailureClass, RunEnd, classify, end_of

TEXTS = {
    "CapacityError: Unable to provision requested ML compute capacity": "capacity",
    "InsufficientCapacityError": "capacity",
    "There is not enough capacity for instance type ml.g6.2xlarge": "capacity",
    "EC2InsufficientCapacityError: capacity is temporarily unavailable": "capacity",
    "ResourceLimitExceeded: The account-level service limit 'ml.p5.48xlarge for training' is 0 Instances": "quota",
    "Instance type ml.p5.48xlarge is not available in this region": "config",
    "ThrottlingException: Rate exceeded": "throttle",
    "InternalServerError: We encountered an internal error. Please try again.": "transient",
    "AccessDeniedException: User is not authorized to perform: sagemaker:CreateTrainingJob": "permission",
    "AlgorithmError: ExecuteUserScriptError, exit code: 1": "algorithm",
    "AlgorithmError: not enough capacity in my queue": "algorithm",
    "something new": "unknown",
    "": "unknown",
}


@pytest.mark.parametrize(("text", "kind"), TEXTS.items())
def test_a_failure_has_the_class_that_its_text_says(text, kind):
    assert classify(text) == FailureClass(kind)


@pytest.mark.parametrize("text", [text for text in TEXTS if text])
def test_neither_case_nor_spacing_matters(text):
    assert classify(text.upper().replace(" ", "  \n")) == classify(text)


def test_nothing_said_is_unknown():
    assert classify(None) is FailureClass.UNKNOWN


def test_every_class_has_an_end_and_none_is_success():
    ends = {end_of(kind) for kind in FailureClass}
    assert len(ends) == len(FailureClass)
    assert RunEnd.COMPLETED not in ends
