import pytest

from constructs_lib.model import InvalidInputError
from constructs_lib.model.approvals import Approvals, approvals, types_in, unapproved


class Root:
    """Stands for an app: anything that can be referred to weakly."""


def test_each_app_has_approvals_of_its_own():
    one, other = Root(), Root()
    assert approvals(one) is approvals(one)
    assert approvals(one) is not approvals(other)


@pytest.mark.parametrize(
    ("scope", "path", "bound"),
    [
        ("", "Stack/Job", True),
        ("Stack", "Stack/Job", True),
        ("Stack", "Stack", True),
        ("Stack", "Stack2/Job", False),
        ("Stack/A", "Stack/Job", False),
    ],
)
def test_a_guardrail_binds_what_is_under_its_scope(scope, path, bound):
    app = Approvals()
    app.approve(scope, "G", ["ml.g5.*"])
    assert bool(app.over(path)) is bound


def test_declaration_order_does_not_matter():
    first, second = Approvals(), Approvals()
    first.use("Stack/Job", ["ml.p5.48xlarge"])
    with pytest.raises(InvalidInputError) as late:
        first.approve("Stack", "Stack/G", ["ml.g5.*"])
    second.approve("Stack", "Stack/G", ["ml.g5.*"])
    with pytest.raises(InvalidInputError) as early:
        second.use("Stack/Job", ["ml.p5.48xlarge"])
    assert str(late.value) == str(early.value)


def test_words_name_who_asks_what_is_refused_and_by_whom():
    assert unapproved("Job", ["ml.g5.xlarge"], {"G": ["ml.g5.*"]}) is None
    words = unapproved("Job", ["ml.g5.xlarge", "ml.p5.48xlarge"], {"Wide": ["*"], "G": ["ml.g5.*"]})
    assert words == "Job asks for ml.p5.48xlarge, which the guardrail G does not approve; it approves ml.g5.*"


@pytest.mark.parametrize(
    ("request_", "types"),
    [
        ({"ResourceConfig": {"InstanceType": "ml.g5.xlarge"}}, ["ml.g5.xlarge"]),
        (
            {"ResourceConfig": {"InstanceGroups": [{"InstanceType": "ml.g5.xlarge"}, {"InstanceType": "ml.m5.large"}]}},
            ["ml.g5.xlarge", "ml.m5.large"],
        ),
        ({"ProcessingResources": {"ClusterConfig": {"InstanceType": "ml.m5.large"}}}, ["ml.m5.large"]),
        (
            {
                "ProductionVariants": [
                    {"InstancePools": [{"InstanceType": "ml.g5.xlarge"}]},
                    {"InstanceType": "ml.m5.large"},
                ]
            },
            ["ml.g5.xlarge", "ml.m5.large"],
        ),
        ({"HyperParameters": {"InstanceType": "x"}, "Tags": [{"Key": "InstanceType"}]}, []),
        ({"ResourceConfig": {"InstanceType": "${Token[TOKEN.3]}"}}, []),
        ({"ResourceConfig": {"InstanceType": {"Ref": "Type"}}}, []),
    ],
)
def test_types_are_found_wherever_a_request_names_them(request_, types):
    assert types_in(request_) == types
