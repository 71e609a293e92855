import json
from pathlib import Path

import pytest

from constructs_lib.model import InvalidInputError
from constructs_lib.rules.policies import Policies, Request, Verdict, evaluate, measure, statements

FIXTURES = Path(__file__).parent.parent / "fixtures" / "iam"
TYPES = "sagemaker:InstanceTypes"
JOB = "arn:aws:sagemaker:us-east-1:111122223333:training-job/x"
ALLOW_ALL = {"Effect": "Allow", "Action": "*", "Resource": "*"}


def document(*some, version="2012-10-17"):
    return {"Version": version, "Statement": list(some)}


def allow(condition=None, **other):
    one = {"Effect": "Allow", "Action": "sagemaker:CreateTrainingJob", "Resource": "*", **other}
    return one | ({"Condition": condition} if condition else {})


def verdict(*some, types=None, boundary=None, scps=(), resource=JOB, **context):
    request = Request(
        action="sagemaker:CreateTrainingJob",
        resource=resource,
        context={**({} if types is None else {TYPES: types}), **context},
    )
    return evaluate(request, Policies(identity=(document(*some),), boundary=boundary, scps=scps)).verdict


EXPECTED = json.loads((FIXTURES / "expected.json").read_text())
WORDS = {"ALLOW": Verdict.ALLOWED, "DENY": Verdict.DENIED, "DENY(implicit)": Verdict.NOT_ALLOWED}
CELLS = [(case["file"], context) for case in EXPECTED["cases"] for context in EXPECTED["contexts"]]


@pytest.mark.parametrize(("file", "context"), CELLS, ids=" ".join)
def test_a_corpus_policy_does_what_is_expected(file, context):
    some = json.loads((FIXTURES / file).read_text())["Statement"]
    case = next(case for case in EXPECTED["cases"] if case["file"] == file)
    assert verdict(*some, types=EXPECTED["contexts"][context]) is WORDS[case["expected"][context]]


def test_every_layer_must_allow():
    other = document(allow(Action="ec2:*"))
    assert verdict(allow(), boundary=(other,)) is Verdict.NOT_ALLOWED
    assert verdict(allow(), scps=((document(ALLOW_ALL),), (other,))) is Verdict.NOT_ALLOWED
    assert verdict(allow(), boundary=(document(ALLOW_ALL),), scps=((document(ALLOW_ALL),),)) is Verdict.ALLOWED


def test_a_deny_in_any_layer_wins():
    deny = document(ALLOW_ALL, {"Effect": "Deny", "NotAction": "ec2:*", "Resource": "*"})
    assert verdict(allow(), boundary=(deny,)) is Verdict.DENIED
    assert verdict(allow(), scps=((deny,),)) is Verdict.DENIED


def test_a_decision_names_the_statement_by_sid_or_place_and_the_layer_that_is_silent():
    identity = document(allow(), {"Sid": "NoTraining", "Effect": "Deny", "Action": "sagemaker:*", "Resource": "*"})
    request = Request(action="sagemaker:CreateTrainingJob", resource=JOB)
    assert evaluate(request, Policies(identity=(identity,))).by == ("NoTraining",)
    assert evaluate(request, Policies(identity=(document(allow()),))).by == ("Statement[0]",)
    assert evaluate(request, Policies(identity=(document(allow()),), boundary=())).by == ("permissions boundary",)


@pytest.mark.parametrize(
    ("condition", "context"),
    [
        ({"DateLessThan": {"aws:CurrentTime": "2027-01-01T00:00:00Z"}}, {}),
        ({"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}, {}),
        ({"StringEquals": {"aws:username": "${aws:PrincipalTag/owner}"}}, {"aws:username": "me"}),
        ({"StringLike": {TYPES: "ml.g5.*"}}, {TYPES: ["ml.g5.xlarge"]}),
        ({"Null": {TYPES: "true"}}, {TYPES: []}),
        ({"Null": {TYPES: "perhaps"}}, {}),
        ({"ForAnyValue:StringLikeIfExists": {TYPES: "ml.g5.*"}}, {}),
        ({"ForAllValues:StringLike": {TYPES: "ml.g5.*"}}, {TYPES: [""]}),
        ({"ForAllValues:StringLike": {TYPES: []}}, {TYPES: ["ml.g5.xlarge"]}),
        ({"ForSomeValues:StringLike": {TYPES: "ml.g5.*"}}, {TYPES: ["ml.g5.xlarge"]}),
        ({"NumericEquals": {"sagemaker:MaxRuntimeInSeconds": "an hour"}}, {"sagemaker:MaxRuntimeInSeconds": "3600"}),
        ({"Bool": {"sagemaker:NetworkIsolation": ["true", "false"]}}, {"sagemaker:NetworkIsolation": "true"}),
        ({"StringEquals": {"aws:RequestedRegion": {"Ref": "AWS::Region"}}}, {"aws:RequestedRegion": "us-east-1"}),
        ({"Fn::If": ["Strict", {}, {}]}, {}),
    ],
    ids=lambda value: next(iter(value), "absent") if isinstance(value, dict) else str(value),
)
def test_what_is_not_modelled_is_unverified_for_and_against(condition, context):
    assert verdict(allow(condition), **context) is Verdict.UNVERIFIED
    assert verdict(ALLOW_ALL, {**allow(condition), "Effect": "Deny"}, **context) is Verdict.UNVERIFIED


@pytest.mark.parametrize("resource", ["arn:aws:sagemaker:*", "arn:aws:sagemaker:*:*:*/x", "arn:aws:sagemaker:*:*:t*"])
def test_a_resource_pattern_that_no_document_defines_is_unverified(resource):
    assert verdict(allow(Resource=resource)) is Verdict.UNVERIFIED
    assert verdict(allow(), allow(Resource=resource)) is Verdict.ALLOWED


def test_a_statement_for_principals_is_not_an_identity_policy():
    assert verdict(allow(Principal="*")) is Verdict.UNVERIFIED


def test_a_doubt_that_cannot_change_the_answer_is_no_doubt():
    doubt = {"DateLessThan": {"aws:CurrentTime": "2027-01-01T00:00:00Z"}}
    assert verdict(allow(), {**allow(doubt), "Effect": "Deny"}, ALLOW_ALL) is Verdict.UNVERIFIED
    assert verdict(allow(doubt), allow(doubt), ALLOW_ALL) is Verdict.ALLOWED
    assert verdict({**allow(doubt), "Effect": "Deny"}) is Verdict.NOT_ALLOWED


def test_a_variable_is_plain_text_in_the_old_version():
    some = document(allow({"ForAllValues:StringEquals": {TYPES: "${x}"}}), version="2008-10-17")
    request = Request(action="sagemaker:CreateTrainingJob", resource=JOB, context={TYPES: ["${x}"]})
    assert evaluate(request, Policies(identity=(some,))).verdict is Verdict.ALLOWED


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ([], "an object with a Statement"),
        ({"Version": "2012-10-17"}, "an object with a Statement"),
        (document("Allow"), r"Statement\[0\]: a statement is an object, 'Allow' was given"),
        (document({"Action": "*", "Resource": "*"}), "'Allow' or 'Deny' is needed, None was given"),
        (document({"Effect": "allow", "Action": "*"}), "'allow' was given"),
        (document({"Effect": "Allow", "Resource": "*"}), "one of Action and NotAction is needed"),
        (document({"Effect": "Allow", "Action": "*", "Condition": []}), "an object of operators is needed"),
    ],
)
def test_what_is_no_policy_document_is_refused_in_words(broken, words):
    with pytest.raises(InvalidInputError, match=words):
        statements(broken)


def test_size_is_counted_as_iam_and_as_organizations_count():
    some = document(allow())
    assert measure(some) == len(json.dumps(some).replace(" ", ""))
    assert measure(some, spaces=True) == len(json.dumps(some))
