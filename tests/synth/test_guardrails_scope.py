"""A job is held against the guardrails over it, whichever is declared first, and its launcher is told of them."""

import json

import aws_cdk as cdk
import pytest
from constructs import Construct

from constructs_lib import InstancePreference, PreferenceTrainingJob, facts
from constructs_lib.guardrails.instance_types import InstanceTypeGuardrail
from constructs_lib.model import InvalidInputError

VARIABLE = "GPUCAP_ALLOWED_INSTANCE_TYPES"
GOOD = ["ml.p5.*", "ml.p4d.24xlarge"]


def launcher_environment(template):
    functions = [r for r in template["Resources"].values() if r["Type"] == "AWS::Lambda::Function"]
    (launcher,) = [f["Properties"] for f in functions if f["Properties"]["Handler"].endswith("launcher.handler")]
    return launcher["Environment"]["Variables"]


def test_a_job_that_asks_for_what_the_guardrail_forbids_is_refused_with_both_names(stack, make_job):
    InstanceTypeGuardrail(stack, "Approved", allowed=["ml.p5.*"])
    words = "Research/FineTune asks for ml.p4d.24xlarge, which the guardrail Research/Approved does not approve"
    with pytest.raises(InvalidInputError, match=words):
        make_job()


def test_a_guardrail_that_is_declared_after_the_job_refuses_it_as_well(stack, make_job):
    make_job()
    with pytest.raises(InvalidInputError, match=r"Research/FineTune asks for ml\.p4d\.24xlarge.*Research/Approved"):
        InstanceTypeGuardrail(stack, "Approved", allowed=["ml.p5.*"])


@pytest.mark.parametrize("over", ["app", "stack"])
def test_the_allowed_list_travels_with_the_launcher_of_every_stack_under_it(app, stack, make_job, synth, over):
    make_job()
    InstanceTypeGuardrail({"app": app, "stack": stack}[over], "Approved", allowed=GOOD)
    name = "Approved" if over == "app" else "Research/Approved"
    assert json.loads(launcher_environment(synth(app))[VARIABLE]) == {name: GOOD}


def test_every_guardrail_over_a_stack_binds(app, stack, make_job, synth):
    InstanceTypeGuardrail(app, "Company", allowed=["ml.p*", "ml.g5.*"])
    InstanceTypeGuardrail(stack, "Team", allowed=GOOD)
    make_job()
    assert json.loads(launcher_environment(synth(app))[VARIABLE]) == {
        "Company": ["ml.p*", "ml.g5.*"],
        "Research/Team": GOOD,
    }
    with pytest.raises(InvalidInputError, match=r"ml\.g5\.xlarge.*Research/Team"):
        make_job("Small", preferences=[InstancePreference("ml.p5.48xlarge"), InstancePreference("ml.g5.xlarge")])


def test_without_a_guardrail_the_launcher_has_no_list(app, make_job, synth):
    make_job()
    assert VARIABLE not in launcher_environment(synth(app))


def test_a_guardrail_beside_or_below_does_not_bind(app, stack, make_job, synth):
    InstanceTypeGuardrail(cdk.Stack(app, "Other"), "Approved", allowed=["ml.g5.*"])
    InstanceTypeGuardrail(Construct(stack, "Fine"), "Approved", allowed=["ml.g5.*"])  # no prefix of FineTune's path
    InstanceTypeGuardrail(stack, "ForPeople", allowed=["ml.g5.*"], binds_scope=False)
    make_job()
    assert VARIABLE not in launcher_environment(synth(app))


def test_a_guardrail_in_a_stage_binds_the_stage_alone(app, make_job):
    InstanceTypeGuardrail(cdk.Stage(app, "Prod"), "Approved", allowed=["ml.g5.*"])
    make_job()
    inside = cdk.Stack(cdk.Stage(app, "Prod2"), "Research")
    make_job(scope=inside)
    stage = cdk.Stage(app, "Prod3")
    InstanceTypeGuardrail(stage, "Approved", allowed=["ml.g5.*"])
    with pytest.raises(InvalidInputError, match="Prod3/Research/FineTune asks"):
        make_job(scope=cdk.Stack(stage, "Research"))


def test_an_optimized_job_is_held_against_the_list_too(stack, make_job):
    InstanceTypeGuardrail(stack, "Approved", allowed=["ml.p5.*"])
    with pytest.raises(InvalidInputError, match=r"does not approve"):
        make_job(integration="optimized")


def test_two_apps_in_one_process_do_not_see_each_other(make_job):
    InstanceTypeGuardrail(cdk.Stack(cdk.App(), "Research"), "Approved", allowed=["ml.g5.*"])
    make_job()


def test_lists_that_do_not_fit_into_the_launchers_environment_are_refused_at_synth(app, stack, make_job):
    InstanceTypeGuardrail(stack, "Approved", allowed=sorted(facts.instance_types()))
    make_job()
    with pytest.raises(RuntimeError, match=r"Research/Approved need 8,\d+ characters.*compress=True"):
        app.synth()


def test_the_check_costs_a_job_no_kernel_request(stack, kernel_requests):
    InstanceTypeGuardrail(stack, "Approved", allowed=GOOD)
    counts = []
    for name in ("First", "Second", "Third"):
        entries = [InstancePreference("ml.p5.48xlarge", instance_count=1)]
        PreferenceTrainingJob(stack, name, image="image", output="s3://b/o", max_runtime=3600, preferences=entries)
        counts.append(kernel_requests())
    assert (counts[1] - counts[0], counts[2] - counts[1]) == (1, 1)
