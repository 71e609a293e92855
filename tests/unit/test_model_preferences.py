"""One entry of a list of acceptable instance types."""

import pytest

from constructs_lib.model import HasTrainingPlanArn, InstancePreference, InvalidInputError

PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/p"


class Plan:
    training_plan_arn = PLAN


def test_an_on_demand_entry_is_its_type_and_its_count():
    assert InstancePreference("ml.g5.xlarge").to_request() == {"InstanceType": "ml.g5.xlarge"}
    counted = InstancePreference("ml.g5.xlarge", instance_count=2).to_request()
    assert counted == {"InstanceType": "ml.g5.xlarge", "InstanceCount": 2}


@pytest.mark.parametrize("plan", [PLAN, Plan()], ids=["text", "object"])
def test_a_plan_is_a_list_of_one_arn(plan):
    entry = InstancePreference("ml.p5.48xlarge", training_plan=plan)
    assert entry.training_plan_arn == PLAN
    assert entry.to_request()["TrainingPlanArns"] == [PLAN]


def test_whatever_has_an_arn_is_a_plan():
    assert isinstance(Plan(), HasTrainingPlanArn)
    assert not isinstance(object(), HasTrainingPlanArn)


@pytest.mark.parametrize("kind", ["", None, 5])
def test_an_entry_needs_a_type(kind):
    with pytest.raises(InvalidInputError, match=r"a SageMaker type such as .* is needed"):
        InstancePreference(kind)


def test_a_reason_never_reaches_the_request():
    assert "because" not in str(InstancePreference("ml.g5.xlarge", reason="because").to_request())
