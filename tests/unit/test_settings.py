"""The context of an app is read once and refused with words when it is wrong."""

import aws_cdk as cdk
import pytest
from constructs import Construct

from constructs_lib import Settings

PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/research"


def settings(**context):
    return Settings.of(cdk.App(context={f"@gpu-capacity/{key}": value for key, value in context.items()}))


def test_without_context_nothing_is_set():
    assert settings() == Settings()


def test_every_key_has_its_field():
    given = settings(**{"image": "train:1", "data": "s3://bucket/research", "training-plan-arn": PLAN})
    assert given == Settings(image="train:1", data="s3://bucket/research", training_plan_arn=PLAN)


def test_a_key_of_others_is_none_of_ours():
    assert Settings.of(cdk.App(context={"@aws-cdk/x": True, "gpu": 1})) == Settings()


def test_settings_are_read_once_per_app_from_any_scope_in_it():
    app = cdk.App(context={"@gpu-capacity/image": "train:1"})
    scope = Construct(cdk.Stack(app, "S"), "Team")
    assert Settings.of(scope) is Settings.of(app)


def test_all_that_is_wrong_is_said_at_once_with_what_is_allowed():
    with pytest.raises(ValueError, match="@gpu-capacity/") as refused:
        settings(**{"imagee": "x", "data": "bucket/x", "training-plan-arn": "arn:aws:s3:::x", "image": 5})
    words = str(refused.value)
    assert "@gpu-capacity/imagee: there is no such key; there are @gpu-capacity/image, @gpu-capacity/data" in words
    assert "@gpu-capacity/data: 'bucket/x' was given, an s3:// prefix is needed" in words
    assert "@gpu-capacity/training-plan-arn: 'arn:aws:s3:::x' was given" in words
    assert "@gpu-capacity/image: 5 was given" in words
