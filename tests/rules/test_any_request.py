"""No input breaks a rule, and a list is refused exactly when the documented rules of lists refuse it."""

import copy
import gzip
import json
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from random import Random

import botocore.session
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constructs_lib.rules import Carrier, Kind, Subject, check, check_request

MODEL = botocore.session.get_session().get_service_model("sagemaker")
TRAINING = set(MODEL.shape_for("TrainingInstanceType").enum)
DUMP = json.loads(gzip.decompress((files("moto") / "ec2/resources/instance_types.json.gz").read_bytes()))

FIXTURES = sorted((Path(__file__).parent.parent / "fixtures" / "rules").glob("*/*.json"))
KEYS = [
    *("ResourceConfig", "ProcessingResources", "ClusterConfig", "InstancePreferences", "InstanceType"),
    *("InstanceCount", "TrainingPlanArns", "StoppingCondition", "VpcConfig", "Subnets", "ProductionVariants"),
    *("InstancePools", "CapacityReservationConfig", "Parameters", "Arguments", "Choices", "States", "Retry"),
    *("Statements", "Statement", "Condition", "Approval", "TargetResources", "Users", "Calls", "detail-type"),
    *("Ref", "Fn::If", "Fn::Join", "Fn::Sub", "Fn::GetAtt"),
]
LEAVES = [
    *(None, True, False, 0, 1, -1, 7200, 0.5, 10**30, -1.8881545897087626e289, float("inf"), float("nan")),
    *("", "true", "NaN", "-1", "ml.p5.48xlarge", "ml.p9.48xlarge", "p5.48xlarge", "*", "Task", "Allow"),
    *("States.ALL", "sagemaker", "nightly#1", "2027-01-27T00:00:00Z", "arn:x", "x" * 300, "\x00", "[0]"),
    *("${Token[A.1]}", "#{Token[L.1]}", "{% $x %}", "${A.B}-${"),
    *("arn:aws:states:::sagemaker:createTrainingJob.sync", "arn:aws:sagemaker:us-west-2:1:training-plan/nightly"),
]


def junk(random, depth=4):
    """Return any JSON value."""
    kind = random.random()
    if depth == 0 or kind < 0.5:
        return random.choice(LEAVES)
    if kind < 0.7:
        return [junk(random, depth - 1) for _ in range(random.randrange(4))]
    return {random.choice(KEYS): junk(random, depth - 1) for _ in range(random.randrange(5))}


def damaged(random, value):
    """Return a value of which one part, at any depth, was replaced, dropped, doubled or renamed."""
    if not isinstance(value, dict | list) or not value or random.random() < 0.2:
        return junk(random)
    made = copy.copy(value)
    key = random.choice(list(made)) if isinstance(made, dict) else random.randrange(len(made))
    how = random.random()
    if how < 0.1:
        del made[key]
    elif how < 0.2 and isinstance(made, list):
        made.append(made[key])
    elif how < 0.2:
        made[random.choice(KEYS)] = made.pop(key)
    else:
        made[key] = damaged(random, made[key])
    return made


def subjects(random):
    """Return the subjects of a fixture, damaged, or plain junk; and what is declared."""
    if random.random() < 0.2:
        data, about = ({random.choice(KEYS): junk(random) for _ in range(6)} for _ in range(2))
        return [Subject(random.choice(list(Kind)), data, about=about, carrier=random.choice(list(Carrier)))], junk(
            random
        )
    raw = json.loads(random.choice(FIXTURES).read_text())
    declared = raw.get("declared")
    made = []
    for one in raw.get("subjects", [raw]):
        parts = {key: one.get(key, {}) for key in ("data", "about")}
        for _ in range(random.randrange(1, 4)):
            part = "data" if random.random() < 0.8 else "about"
            parts[part] = damaged(random, parts[part])
        data, about = (part if isinstance(part, dict) else {"Ref": part} for part in parts.values())
        carrier = Carrier(one.get("carrier", random.choice(list(Carrier))))
        made.append(Subject(Kind(one["kind"]), data, about=about, carrier=carrier, resource=one.get("resource")))
    return made, damaged(random, declared) if declared and random.random() < 0.5 else declared


def failures(seed):
    """Return what the engine says about rules that failed, with and without a clock."""
    random = Random(seed)
    made, declared = subjects(random)
    now = datetime(2026, 12, 10, 12, tzinfo=UTC) if random.random() < 0.5 else None
    found = check(made, now=now, declared=declared if isinstance(declared, dict) else None)
    return [str(finding) for finding in found if "the rule itself failed" in finding.message]


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**63))
def test_no_request_of_ten_thousand_breaks_a_rule(seed):
    assert failures(seed) == []


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**63))
def test_no_request_of_some_breaks_a_rule(seed):
    assert failures(seed) == []


# The rules of lists as the documents have them (InstancePreferences, their counts, plans, limits), written by hand.


def local_storage(name):
    """Return GB of local storage; p2 and p3 left moto's dump and have none."""
    return (
        0
        if name.startswith(("ml.p2.", "ml.p3."))
        else DUMP[name[3:]].get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0)
    )


def is_legal(job):
    resources, stopping = job["ResourceConfig"], job.get("StoppingCondition", {})
    entries = resources["InstancePreferences"]
    types = [entry["InstanceType"] for entry in entries]
    counts = ["InstanceCount" in entry for entry in entries]
    plans = [entry["TrainingPlanArns"] for entry in entries if "TrainingPlanArns" in entry]
    given_counts = [e["InstanceCount"] for e in [*entries, resources] if "InstanceCount" in e]
    one_mode = all(counts) != ("InstanceCount" in resources) and any(counts) == all(counts)
    storage = [local_storage(name) for name in types] if set(types) <= TRAINING else []
    return all(
        [
            1 <= len(entries) <= 5,
            set(types) <= TRAINING,
            len(set(types)) == len(types),
            one_mode,
            all(count >= 1 for count in given_counts),
            not {"InstanceType", "InstanceGroups", "InstancePlacementConfig", "SelectedInstanceType"}
            & resources.keys(),
            not job.get("EnableManagedSpotTraining"),
            "MaxWaitTimeInSeconds" not in stopping,
            all(len(plan) == 1 for plan in plans),
            not (plans and "TrainingPlanArn" in resources),
            1800 <= stopping.get("MaxPendingTimeInSeconds", 1800) <= 2419200,
            1 <= stopping.get("MaxRuntimeInSeconds", 1) <= 2419200,
            0 <= resources.get("KeepAlivePeriodInSeconds", 0) <= 21600,
            not ("VolumeKmsKeyId" in resources and storage and all(storage)),
            "VolumeSizeInGB" in resources or all(storage),
        ]
    )


PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/nightly"
P5, P4, G5, C5, P3 = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.48xlarge", "ml.c5.18xlarge", "ml.p3.16xlarge"


def job(*entries, stopping=None, spot=None, **resources):
    rows = [
        {
            k: v
            for k, v in zip(("InstanceType", "InstanceCount", "TrainingPlanArns"), entry, strict=False)
            if v is not None
        }
        for entry in entries
    ]
    made = {"ResourceConfig": {"InstancePreferences": rows, **resources}}
    made |= {"StoppingCondition": stopping} if stopping else {}
    return made | ({"EnableManagedSpotTraining": spot} if spot is not None else {})


LEGAL = [
    job((P5, 8), (P4, 8)),
    job((P5,), (P4,), InstanceCount=8),
    job((P5, 1)),
    job((P5, 4, [PLAN]), (G5, 8)),
    job((P5, 4, [PLAN])),
    job((P5,), (P4,), InstanceCount=2, TrainingPlanArn=PLAN),
    job((P5, 8), (P4, 8), stopping={"MaxPendingTimeInSeconds": 1800, "MaxRuntimeInSeconds": 2419200}),
    job((P5, 8), (P4, 8), stopping={"MaxPendingTimeInSeconds": 2419200}),
    job((P5, 1), (P4, 2), (G5, 3), (C5, 4), (P3, 5), VolumeSizeInGB=100),
    job((P3, 1), (C5, 2), VolumeSizeInGB=100, VolumeKmsKeyId="key"),
    job((P5, 8), (P4, 8), KeepAlivePeriodInSeconds=21600, spot=False),
    job((P5, 8), (P3, 8), VolumeSizeInGB=100, VolumeKmsKeyId="key"),
]
ILLEGAL = [
    job(),
    job((P5, 1), (P4, 1), (G5, 1), (C5, 1), (P3, 1), ("ml.g6.48xlarge", 1), VolumeSizeInGB=100),
    job((P5, 4, [PLAN]), (P5, 4)),
    job((P5, 2), (G5,)),
    job((P5, 8), (P4, 8), InstanceCount=8),
    job((P5,), (P4,)),
    job((P5, 0), (P4, 8)),
    job((P5, 8), (P4, 8), InstanceType="ml.m4.xlarge"),
    job((P5, 8), (P4, 8), spot=True),
    job((P5, 8, [PLAN]), (P4, 8), TrainingPlanArn=PLAN),
    job((P5, 8), (P4, 8), stopping={"MaxPendingTimeInSeconds": 1799}),
    job((P5, 8), ("ml.inf2.xlarge", 8), VolumeSizeInGB=100),
]


def errors(request):
    return [str(f) for f in check_request("training-job", request) if f.severity == "error"]


@pytest.mark.parametrize("request_", LEGAL, ids=range(len(LEGAL)))
def test_a_known_legal_list_is_clean(request_):
    assert is_legal(request_)
    assert errors(request_) == []


@pytest.mark.parametrize("request_", ILLEGAL, ids=range(len(ILLEGAL)))
def test_a_known_illegal_list_is_refused(request_):
    assert not is_legal(request_)
    assert errors(request_)


@st.composite
def near_legal(draw):
    """Start from a seed and change a few members, each to a value that may or may not be allowed."""
    made = copy.deepcopy(draw(st.sampled_from(LEGAL + ILLEGAL)))
    resources = made["ResourceConfig"]
    for change in draw(st.lists(st.sampled_from(CHANGES), max_size=4)):
        change(draw, made, resources, resources["InstancePreferences"])
    return made


def _member(name, values):
    def change(draw, made, resources, entries):
        value = draw(st.sampled_from([None, *values]))
        resources.pop(name, None) if value is None else resources.update({name: value})

    return change


def _stopping(name, values):
    def change(draw, made, resources, entries):
        made.setdefault("StoppingCondition", {})[name] = draw(st.sampled_from(values))

    return change


def _entry(name, values):
    def change(draw, made, resources, entries):
        if entries:
            entry, value = draw(st.sampled_from(entries)), draw(st.sampled_from(values))
            entry.pop(name, None) if value is None else entry.update({name: value})

    return change


def _add(draw, made, resources, entries):
    entries.append(
        {"InstanceType": draw(st.sampled_from(sorted(TRAINING - {"ml.p6e-gb200.36xlarge"}))), "InstanceCount": 1}
    )


def _drop(draw, made, resources, entries):
    if entries:
        entries.pop()


def _spot(draw, made, resources, entries):
    made["EnableManagedSpotTraining"] = draw(st.booleans())


CHANGES = [
    _add,
    _drop,
    _spot,
    _entry("InstanceType", [P5, P4, G5, C5, P3, "ml.inf2.xlarge"]),
    _entry("InstanceCount", [None, 0, 1, 100]),
    _entry("TrainingPlanArns", [[PLAN], [PLAN, PLAN], []]),
    _member("InstanceCount", [0, 1, 8]),
    _member("TrainingPlanArn", [PLAN]),
    _member("InstanceType", [P5]),
    _member("InstanceGroups", [[{"InstanceType": P5, "InstanceCount": 1, "InstanceGroupName": "a"}]]),
    _member("InstancePlacementConfig", [{"EnableMultipleJobs": True}]),
    _member("SelectedInstanceType", [P5]),
    _member("VolumeSizeInGB", [100]),
    _member("VolumeKmsKeyId", ["key"]),
    _member("KeepAlivePeriodInSeconds", [0, 21600, 21601]),
    _stopping("MaxPendingTimeInSeconds", [1799, 1800, 2419200, 2419201]),
    _stopping("MaxRuntimeInSeconds", [0, 1, 2419200, 2419201]),
    _stopping("MaxWaitTimeInSeconds", [2419200]),
]


@pytest.mark.slow
@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
@given(near_legal())
def test_a_list_has_errors_exactly_when_the_documents_refuse_it(request_):
    assert (errors(request_) == []) == is_legal(request_), errors(request_)
