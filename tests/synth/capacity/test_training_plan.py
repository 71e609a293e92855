"""What a declared plan becomes in a template, and what is refused before there is one."""

import json
from datetime import UTC, datetime, timedelta

import aws_cdk as cdk
import pytest
from aws_cdk import aws_sns as sns

from constructs_lib import (
    Approval,
    CapacityBuyer,
    CapacityRulesPlugin,
    CapacityWindow,
    HasTrainingPlanArn,
    InstancePreference,
    ITrainingPlan,
    PriceCeiling,
    TrainingPlan,
    TrainingPlanTarget,
    synth_checked,
)
from constructs_lib.model import InvalidInputError
from constructs_lib.runtime.plan_answer import ATTRIBUTES
from constructs_lib.runtime.plan_request import PlanRequest
from constructs_lib.sandbox.cloudformation.resources.custom import as_strings

KEY = "nightly#1@2026-12-10@111122223333/us-west-2"
TOPIC = "arn:aws:sns:us-east-1:111122223333:purchases"
ARN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/research"
STACK = "arn:aws:cloudformation:us-east-1:111122223333:stack/Research/1"


def read(properties, resolved):
    """Return what the buyer reads of a purchase's properties, as CloudFormation sends them."""
    event = {"RequestType": "Create", "StackId": STACK, "RequestId": "r"}
    return PlanRequest.of(event | {"ResourceProperties": as_strings(resolved(properties))})


def test_the_buyer_reads_what_was_declared(app, make_plan, synth, purchases, resolved):
    make_plan(
        generation=2,
        choice="earliest,cheapest",
        allow_discontinuous=True,
        adopt=True,
        approval=Approval.required(topic=TOPIC),
        extend_until="2027-02-12T11:30+00:00",
        max_extension_fee=PriceCeiling("20000.50", "USD"),
        tags={"team": "vision"},
    )
    ((_, properties),) = purchases(synth(app)).items()
    ask = read(properties, resolved)
    assert (ask.plan.identity, ask.plan.generation, ask.plan.name) == ("nightly", 2, "nightly-2")
    assert (ask.wanted.instance_type, ask.wanted.instance_count, ask.wanted.duration_hours) == ("ml.p5.48xlarge", 4, 72)
    assert ask.wanted.window == CapacityWindow(start_after="2027-01-27T00:00Z", end_before="2027-02-05T12:00Z")
    assert (ask.wanted.target, ask.wanted.allow_discontinuous, ask.adopt) == ("training-job", True, True)
    assert (ask.ceiling, str(ask.choice)) == (PriceCeiling("60000", "USD"), "earliest,cheapest")
    assert (ask.topic, ask.tags) == (TOPIC, {"team": "vision"})
    assert ask.extension.until == datetime(2027, 2, 12, 11, 30, tzinfo=UTC)
    assert ask.extension.ceiling == PriceCeiling("20000.50", "USD")


def test_without_a_key_in_the_context_nothing_is_allowed(app, make_plan, synth, purchases, resolved):
    make_plan()
    ((_, properties),) = purchases(synth(app)).items()
    ask = read(properties, resolved)
    assert (ask.keys, ask.topic, ask.extension, ask.adopt) == ("", None, None, False)
    assert ask.reason_without_key("1", datetime(2026, 12, 1, tzinfo=UTC).date()) == "no purchase key is given"


def test_the_key_comes_from_the_context_and_a_new_word_makes_the_next_deploy_ask_again(
    tmp_path, make_plan, synth, purchases
):
    def properties(**context):
        app = cdk.App(
            outdir=str(tmp_path / str(len(context))), context={f"@gpu-capacity/{k}": v for k, v in context.items()}
        )
        make_plan(scope=cdk.Stack(app, "Research"))
        return next(iter(purchases(synth(app)).values()))

    plain, key = properties(), properties(purchase=KEY)
    again = properties(**{"purchase": KEY, "ask-again": "monday"})
    assert (plain["Purchase"], key["Purchase"]) == ("", KEY)
    assert again == key | {"AskAgain": "monday"}


def test_a_plan_is_kept_whatever_removal_policies_the_app_sets(app, make_plan, synth):
    make_plan()
    cdk.RemovalPolicies.of(app).destroy()
    (resource,) = (r for r in synth(app)["Resources"].values() if r["Type"] == "Custom::SageMakerTrainingPlan")
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_the_rules_would_see_a_plan_that_is_not_kept(app, make_plan):
    plan = make_plan()
    plan.resource.node.default_child.add_override("DeletionPolicy", "Delete")
    with pytest.raises(Exception, match="GPU-TP07"):
        synth_checked(app)


def test_the_rules_find_no_error_in_a_plan_and_the_job_that_uses_it(app, make_plan, make_job):
    plan = make_plan()
    make_job(
        preferences=[plan.preference(), InstancePreference("ml.p4d.24xlarge", instance_count=8)], instance_count=None
    )
    synth_checked(app)


def test_every_attribute_of_a_plan_is_one_that_the_buyer_answers(stack, make_plan):
    plan = make_plan()
    given = [plan.training_plan_arn, plan.status, plan.quote, plan.start_time, plan.end_time, plan.upfront_fee]
    names = [stack.resolve(token)["Fn::GetAtt"][1] for token in (*given, plan.availability_zones)]
    assert set(names) <= set(ATTRIBUTES)
    assert len(set(names)) == 7


def test_the_outputs_say_what_there_is_and_that_deleting_the_stack_keeps_it(app, make_plan, synth, resolved):
    make_plan(generation=3)
    outputs = [resolved(output["Value"]) for output in synth(app)["Outputs"].values()]
    assert any(text.startswith("training plan nightly-3: ") and "Status" not in text for text in outputs)
    assert any("deleting this stack keeps it" in text for text in outputs)


def test_tags_of_the_app_reach_the_plan(app, make_plan, synth, purchases):
    make_plan(tags={"team": "vision"})
    cdk.Tags.of(app).add("cost", "research")
    (properties,) = purchases(synth(app)).values()
    assert properties["Tags"] == [{"Key": "cost", "Value": "research"}, {"Key": "team", "Value": "vision"}]


def test_no_id_of_a_plan_moves_with_an_offering_or_a_clock(tmp_path, make_plan, synth):
    texts = []
    for name in ("one", "other"):
        stack = cdk.Stack(cdk.App(outdir=str(tmp_path / name)), "Research")
        make_plan(scope=stack)
        texts.append(json.dumps(synth(stack.node.root)))
    assert texts[0] == texts[1]


def test_a_job_gets_the_plan_by_its_arn_and_so_waits_for_its_purchase(
    app, stack, make_plan, make_job, synth, purchases
):
    plan = make_plan()
    assert isinstance(plan, HasTrainingPlanArn)
    job = make_job(preferences=[plan.preference(reason="paid for")], instance_count=None)
    ((purchase, _),) = purchases(synth(app)).items()
    assert {"Fn::GetAtt": [purchase, "TrainingPlanArn"]} in stack.resolve(job.definition_string)["Fn::Join"][1]


def test_a_plan_takes_its_place_in_a_list_with_all_its_instances_or_fewer(make_plan):
    plan = make_plan()
    assert plan.preference() == InstancePreference("ml.p5.48xlarge", instance_count=4, training_plan=plan)
    assert plan.preference(instance_count=2, reason="half").instance_count == 2


def test_a_plan_for_something_else_is_no_place_for_a_job(make_plan):
    plan = make_plan(target=TrainingPlanTarget.ENDPOINT)
    with pytest.raises(InvalidInputError, match="the plan is for endpoint, and a job needs one for training-job"):
        plan.preference()


@pytest.mark.parametrize("generation", [1, 2])
def test_two_constructs_with_one_identity_are_refused_whatever_their_generation(make_plan, generation):
    make_plan()
    with pytest.raises(InvalidInputError, match=r"'nightly' is declared by Research/Nightly already"):
        make_plan("Other", generation=generation)


def test_stacks_of_one_place_share_their_identities_and_those_of_others_do_not(app, make_plan):
    def at(region, name):
        return cdk.Stack(app, name, env=cdk.Environment(account="111122223333", region=region))

    make_plan(scope=at("us-east-1", "One"))
    make_plan(scope=at("us-west-2", "Two"))
    with pytest.raises(InvalidInputError, match="is declared by One/Nightly already"):
        make_plan(scope=at("us-east-1", "Three"))


def test_stacks_whose_place_is_open_are_left_to_the_rules(app, stack, make_plan):
    make_plan()
    make_plan(scope=cdk.Stack(app, "Other"))
    plugin = CapacityRulesPlugin()
    cdk.Validations.of(app).add_plugins(plugin)
    app.synth()


DAY = timedelta(days=1)
BAD = {
    "a duration that the window cannot hold": (
        {
            "duration": 7 * DAY,
            "window": CapacityWindow(start_after="2027-01-27T00:00Z", end_before="2027-01-31T00:00Z"),
        },
        "168 hours do not fit between 2027-01-27",
    ),
    "a CPU type": ({"instance_type": "ml.c5.xlarge"}, "GPU-TP02"),
    "no instances": ({"instance_count": 0}, "InstanceCount is 0; 1 to 256 is allowed"),
    "more than a plan holds": ({"instance_count": 257}, "1 to 256 is allowed"),
    "half an hour": ({"duration": timedelta(minutes=90)}, "whole hours are needed, known at synth; 1.5 were given"),
    "more than half a year": ({"duration": 183 * DAY, "window": CapacityWindow()}, "1 to 182 days"),
    "a fee that is no ceiling": (
        {"max_upfront_fee": 60000.0},
        r"PriceCeiling\(\"60000\", \"USD\"\) is needed, 60000.0",
    ),
    "no fee": ({"max_upfront_fee": None}, "max_upfront_fee: PriceCeiling"),
    "a window that is none": ({"window": "2027-01-27"}, r"window: CapacityWindow\(.*is needed, '2027-01-27' was given"),
    "a name with its suffix": (
        {"training_plan_name": "n" * 63, "generation": 2},
        "65 characters, at most 64 are allowed",
    ),
    "a name with spaces": ({"training_plan_name": "every night"}, "letters, digits and hyphens"),
    "generation 0": ({"generation": 0}, "generation 0"),
    "a target that is none": ({"target": "training"}, "target: 'training' .* one of training-job, hyperpod-cluster"),
    "a choice that is none": ({"choice": "best"}, "one or more of cheapest, earliest, longest"),
    "an extension without a ceiling": ({"extend_until": "2027-02-12T11:30Z"}, "are given together"),
    "a ceiling without an extension": ({"max_extension_fee": PriceCeiling("1", "USD")}, "are given together"),
    "an extension in another currency": (
        {"extend_until": "2027-02-12T11:30Z", "max_extension_fee": PriceCeiling("1", "EUR")},
        "max_extension_fee is in EUR and max_upfront_fee in USD",
    ),
    "an extension until a naive time": (
        {"extend_until": "2027-02-12T11:30", "max_extension_fee": PriceCeiling("1", "USD")},
        "has no time zone",
    ),
    "a tag of ours": ({"tags": {"gpucap:identity": "mine"}}, "gpucap:identity say whose the plan is"),
    "too many tags": ({"tags": {f"k{i}": "v" for i in range(49)}}, "49 were given; a plan takes 48"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_plan_is_refused_in_words_when_it_is_declared(make_plan, case):
    props, words = BAD[case]
    with pytest.raises(ValueError, match=words):
        make_plan(**props)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PriceCeiling("60,000", "USD"), "'60,000' is no amount"),
        (lambda: PriceCeiling(60000.5, "USD"), "an amount as text is needed"),
        (lambda: PriceCeiling("-5", "USD"), "is negative"),
        (lambda: PriceCeiling("60000", "usd"), "three capital letters"),
        (lambda: CapacityWindow(start_after=datetime(2027, 1, 27)), "has no time zone"),  # noqa: DTZ001 - the mistake
        (lambda: Approval.required(topic=None), "nobody could be asked"),
        (lambda: Approval.required(topic="arn:aws:sqs:us-east-1:111122223333:queue"), "is no topic"),
    ],
)
def test_a_part_that_is_no_part_is_refused_before_the_plan(make, words):
    with pytest.raises(InvalidInputError, match=words):
        make()


def test_a_context_that_is_no_text_is_refused(tmp_path, make_plan):
    app = cdk.App(outdir=str(tmp_path / "out"), context={"@gpu-capacity/purchase": [KEY]})
    with pytest.raises(InvalidInputError, match="a text is needed"):
        make_plan(scope=cdk.Stack(app, "Research"))


def test_an_approval_takes_a_topic_of_the_app(app, stack, make_plan, synth, purchases):
    topic = sns.Topic(stack, "People")
    make_plan(approval=Approval.required(topic=topic))
    (properties,) = purchases(synth(app)).values()
    assert properties["Approval"] == {"Required": "true", "TopicArn": stack.resolve(topic.topic_arn)}


def test_a_plan_bought_elsewhere_is_used_like_one_of_ours(stack, make_job, request_of):
    plan = TrainingPlan.from_training_plan_arn(
        stack,
        "Reserved",
        ARN,
        instance_type="ml.p5.48xlarge",
        instance_count=8,
        target=TrainingPlanTarget.TRAINING_JOB,
        starts_at="2027-01-27T11:30Z",
        ends_at=datetime(2027, 1, 30, 11, 30, tzinfo=UTC),
        availability_zones=["us-east-1a"],
    )
    job = make_job(preferences=[plan.preference()], instance_count=None)
    entry = {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 8, "TrainingPlanArns": [ARN]}
    assert request_of(job)["ResourceConfig"]["InstancePreferences"] == [entry]
    assert (plan.plan_name, plan.ends_at - plan.starts_at) == ("research", 3 * DAY)
    assert all(hasattr(plan, name) for name in (*ITrainingPlan.__annotations__, "grants", "preference"))


@pytest.mark.parametrize(
    ("known", "entry", "words"),
    [
        ({"target": TrainingPlanTarget.ENDPOINT}, "ml.p5.48xlarge", "was bought for endpoint, not for a training job"),
        ({"instance_type": "ml.p5.48xlarge"}, "ml.p4d.24xlarge", "is for ml.p5.48xlarge, not for ml.p4d.24xlarge"),
        ({"instance_count": 2}, "ml.p5.48xlarge", "GPU-TP09"),
    ],
)
def test_a_job_is_held_against_what_was_declared_of_a_plan(stack, make_job, known, entry, words):
    plan = TrainingPlan.from_training_plan_arn(stack, "Reserved", ARN, **known)
    with pytest.raises(InvalidInputError, match=words):
        make_job(preferences=[InstancePreference(entry, instance_count=4, training_plan=plan)], instance_count=None)


def test_a_plan_known_by_a_token_has_the_name_that_a_deploy_will_read(stack):
    parameter = cdk.CfnParameter(stack, "Plan")
    plan = TrainingPlan.from_training_plan_arn(stack, "Reserved", parameter.value_as_string)
    assert stack.resolve(plan.plan_name) == {"Fn::Select": [1, {"Fn::Split": ["/", {"Ref": "Plan"}]}]}
    with pytest.raises(InvalidInputError, match="the plan's instance type is not known"):
        plan.preference()


@pytest.mark.parametrize(
    ("arn", "words"),
    [
        ("arn:aws:ec2:us-east-1:111122223333:training-plan/x", "is no training plan"),
        ("arn:aws:sagemaker:us-east-1:111122223333:endpoint/x", "is no training plan"),
        ("nightly", "is no training plan"),
        (None, "is no training plan"),
        (
            "arn:aws:sagemaker:us-west-2:111122223333:training-plan/x",
            "is of region us-west-2 and the stack of us-east-1",
        ),
        ("arn:aws:sagemaker:us-east-1:999922223333:training-plan/x", "plans cannot be shared"),
    ],
)
def test_an_arn_of_something_else_or_of_somewhere_else_is_refused(app, arn, words):
    here = cdk.Stack(app, "Here", env=cdk.Environment(account="111122223333", region="us-east-1"))
    with pytest.raises(InvalidInputError, match=words):
        TrainingPlan.from_training_plan_arn(here, "Reserved", arn)


def test_the_targets_are_those_of_the_service(botocore_enum):
    assert [str(target) for target in TrainingPlanTarget] == list(botocore_enum("SageMakerResourceName"))


def test_the_buyer_of_a_stack_is_one_at_one_path_and_made_before_the_first_plan(stack, make_plan):
    one, other = make_plan(), make_plan("Weekly", training_plan_name="weekly")
    assert one.buyer is other.buyer is CapacityBuyer.of(stack)
    assert one.buyer.node.path == "Research/GpuCapacityBuyer"
    with pytest.raises(InvalidInputError, match="make your own before the first plan"):
        CapacityBuyer(stack)
    with pytest.raises(InvalidInputError, match="directly in its stack"):
        CapacityBuyer(one)
