"""Our evaluator of policies beside one that this project did not write, on thousands of generated cases."""

import random
from collections import Counter

import pytest

from constructs_lib.facts import iam
from constructs_lib.rules.policies import Policies, Request, Verdict, evaluate

pytestmark = pytest.mark.slow

CASES = 6000
REGION_AND_ACCOUNT = "us-east-1:111122223333"
ACTIONS = {
    "sagemaker:CreateTrainingJob": "training-job",
    "sagemaker:CreateProcessingJob": "processing-job",
    "sagemaker:CreateEndpointConfig": "endpoint-config",
    "sagemaker:UpdateTrainingJob": "training-job",
    "sagemaker:CreateCluster": "cluster",
    "sagemaker:UpdateEndpointWeightsAndCapacities": "endpoint",
    "sagemaker:CreateTrainingPlan": "training-plan",
}
TYPES = ["ml.g5.xlarge", "ml.g5.48xlarge", "ml.p4d.24xlarge", "ml.p5.48xlarge", "ml.m5.large"]
TYPE_PATTERNS = [*TYPES, "ml.g5.*", "ml.p*", "ml.?5.*", "*", "g5.*", "ml.G5.*", "${aws:username}", "ml.*.48xlarge"]
KEY = "arn:aws:kms:us-east-1:111122223333:key/1234"
# Condition key -> values in requests, values in policies, operators without a set qualifier.
KEYS = {
    "sagemaker:InstanceTypes": (
        None,
        TYPE_PATTERNS,
        ("StringEquals", "StringLike", "StringNotEquals", "StringNotLike"),
    ),
    "sagemaker:VpcSubnets": (
        None,
        ["subnet-a", "subnet-*", "subnet-b"],
        ("StringEquals", "StringLike", "StringNotLike"),
    ),
    "sagemaker:MaxRuntimeInSeconds": (
        ["60", "3600", "86400"],
        ["60", "3600", "7200.0", "x"],
        (
            "NumericEquals",
            "NumericNotEquals",
            "NumericLessThan",
            "NumericLessThanEquals",
            "NumericGreaterThan",
            "NumericGreaterThanEquals",
        ),
    ),
    "sagemaker:NetworkIsolation": (["true", "false"], ["true", "false"], ("Bool",)),
    "sagemaker:VolumeKmsKeyArn": (
        [KEY, KEY + "5"],
        [KEY, "arn:aws:kms:*:111122223333:key/*", "arn:aws:kms:us-east-1*:key/1234", "*"],
        ("ArnEquals", "ArnLike", "ArnNotEquals", "ArnNotLike", "StringEquals", "StringLike"),
    ),
    "aws:RequestTag/team": (
        ["vision", "Vision"],
        ["vision", "VISION", "v*"],
        ("StringEquals", "StringEqualsIgnoreCase", "StringNotEqualsIgnoreCase", "StringLike"),
    ),
}
LISTS = {"sagemaker:InstanceTypes": TYPES, "sagemaker:VpcSubnets": ["subnet-a", "subnet-b", "other"]}


class Cases:
    """Random documents and requests; one seed, one sequence."""

    def __init__(self, seed):
        self.dice = random.Random(seed)

    def some(self, values, most):
        return self.dice.sample(values, self.dice.randint(1, min(most, len(values))))

    def condition(self):
        block = {}
        for key in self.some(list(KEYS), 2):
            values = self.some(KEYS[key][1], 3)
            block.setdefault(self.operator(key), {})[key] = values if len(values) > 1 else values[0]
        if self.dice.random() < 0.3:
            block["Null"] = {self.dice.choice(list(KEYS)): self.dice.choice(["true", "false"])}
        return block

    def operator(self, key):
        base = self.dice.choice(KEYS[key][2]) + self.dice.choice(["", "", "", "IfExists"])
        qualified = self.dice.random() < (0.9 if key in LISTS else 0.05)
        return f"{self.dice.choice(['ForAllValues', 'ForAnyValue'])}:{base}" if qualified else base

    def statement(self, effect):
        what = self.dice.random()
        if what < 0.7:
            action = {"Action": self.some([*ACTIONS, "sagemaker:Create*", "SageMaker:*job", "*", "ec2:*"], 3)}
        else:
            action = {"Action": "sagemaker:*"} if what < 0.9 else {"NotAction": self.some(list(ACTIONS), 2)}
        resources = [
            "*",
            "arn:aws:sagemaker:*:*:*/x",
            f"arn:aws:sagemaker:{REGION_AND_ACCOUNT}:training-job/*",
            "arn:aws:*:x",
        ]
        where = {
            self.dice.choice(["Resource"] * 9 + ["NotResource"]): self.dice.choice([["*"], self.some(resources, 2)])
        }
        condition = {"Condition": self.condition()} if self.dice.random() < 0.8 else {}
        return {"Effect": effect, **action, **where, **condition}

    def document(self, deny=0.35, allow_all=0.0):
        dice = self.dice
        some = [self.statement("Deny" if dice.random() < deny else "Allow") for _ in range(dice.randint(1, 3))]
        if dice.random() < allow_all:
            some.insert(0, {"Effect": "Allow", "Action": "*", "Resource": "*"})
        return {"Version": "2012-10-17", "Statement": some}

    def policies(self):
        dice = self.dice
        identity = tuple(self.document(allow_all=0.4) for _ in range(dice.randint(1, 2)))
        boundary = (self.document(allow_all=0.6),) if dice.random() < 0.25 else None
        levels = dice.choice([0, 0, 0, 1, 2])
        scps = tuple((self.document(deny=0.6, allow_all=0.9),) for _ in range(levels))
        return Policies(identity=identity, boundary=boundary, scps=scps)

    def request(self):
        dice = self.dice
        action = dice.choice(list(ACTIONS))
        context = {key: self.value(key) for key in KEYS if belongs(key, action) and dice.random() < 0.7}
        resource = f"arn:aws:sagemaker:{REGION_AND_ACCOUNT}:{ACTIONS[action]}/x"
        return Request(action=action, resource=resource, context=context)

    def value(self, key):
        if key not in LISTS:
            return self.dice.choice(KEYS[key][0])
        return [] if self.dice.random() < 0.1 else self.some(LISTS[key], 5)


def belongs(key, action):
    keys = iam.actions()[action].keys
    return key in keys or (key.startswith("aws:RequestTag") and "aws:RequestTag/${TagKey}" in keys)


def make_cases(count, seed=20261129):
    cases = Cases(seed)
    return [(cases.request(), cases.policies()) for _ in range(count)]


def agrees(verdict, theirs):
    """Whether one verdict is the other's; "not allowed" may be a Deny that ours could not read."""
    return (
        theirs
        in {
            Verdict.ALLOWED: ("Allowed",),
            Verdict.DENIED: ("ExplicitlyDenied",),
            Verdict.NOT_ALLOWED: ("ImplicitlyDenied", "ExplicitlyDenied"),
            Verdict.UNVERIFIED: ("Allowed", "ImplicitlyDenied", "ExplicitlyDenied"),
        }[verdict]
    )


def test_both_evaluators_agree_on_every_case_or_ours_says_unverified(simulate):
    cases = make_cases(CASES)
    theirs = simulate(cases)
    ours = [evaluate(request, policies).verdict for request, policies in cases]
    differ = [
        (case, mine, other) for case, mine, other in zip(cases, ours, theirs, strict=True) if not agrees(mine, other)
    ]
    assert not differ, f"{len(differ)} of {CASES} differ, first: {differ[0]}"
    counts = Counter(ours)
    print(f"{CASES} cases: {dict(counts)}; theirs: {dict(Counter(theirs))}")
    assert all(counts[verdict] > 300 for verdict in Verdict)
    assert counts[Verdict.UNVERIFIED] < CASES / 3


@pytest.mark.parametrize("operator", ["ForAllValues", "ForAnyValue", "Null", "IfExists", "Deny"])
def test_an_evaluator_that_is_blind_to_one_thing_is_caught(simulate, operator):
    cases = make_cases(1500)
    theirs = simulate(cases)
    wrong = [
        other
        for (request, policies), other in zip(cases, theirs, strict=True)
        if not agrees(evaluate(request, blind(policies, operator)).verdict, other)
    ]
    assert wrong


def blind(policies, word):
    """The same policies as someone reads them who overlooks one word."""

    def without(document):
        return {**document, "Statement": [overlooked(one, word) for one in document["Statement"]]}

    boundary = None if policies.boundary is None else tuple(map(without, policies.boundary))
    scps = tuple(tuple(map(without, level)) for level in policies.scps)
    return Policies(identity=tuple(map(without, policies.identity)), boundary=boundary, scps=scps)


def overlooked(statement, word):
    if word == "Deny":
        return {**statement, "Effect": "Allow"}
    other = {"ForAllValues": "ForAnyValue", "ForAnyValue": "ForAllValues", "IfExists": ""}.get(word, "")
    block = statement.get("Condition", {})
    block = {
        operator.replace(word, other): keys for operator, keys in block.items() if (operator, word) != ("Null",) * 2
    }
    return {**statement, "Condition": block}
