"""Named resources of every kind the model describes: what is created can be described, listed, changed and deleted."""

import pytest

from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.modelcheck import operation_model, service_model
from constructs_lib.sandbox.patterns import matches
from constructs_lib.sandbox.sagemaker import SageMaker
from constructs_lib.sandbox.sagemaker.resources import Resources

TEXTS = [
    "name-1",
    "arn:aws:iam::123456789012:role/service",
    "s3://bucket/key",
    "123456789012.dkr.ecr.us-east-1.amazonaws.com/image:1",
    "https://github.com/owner/repo.git",
    "arn:aws:sagemaker:us-east-1:123456789012:human-task-ui/name-1",
    "arn:aws:sagemaker:us-east-1:123456789012:workteam/private-crowd/name-1",
    "arn:aws:sagemaker:us-east-1:123456789012:endpoint/name-1",
    "subnet-1",
    "token-of-at-least-thirty-two-characters",
]


def example(shape):
    """Return a value that a shape allows, with required members only."""
    if shape.type_name == "structure":
        names = shape.required_members or (list(shape.members)[:1] if getattr(shape, "is_tagged_union", False) else [])
        return {name: example(shape.members[name]) for name in names}
    if shape.type_name == "list":
        return [example(shape.member) for _ in range(shape.metadata.get("min", 0))]
    if shape.type_name == "string":
        if shape.enum:
            return shape.enum[0]
        least, most = shape.metadata.get("min", 0), shape.metadata.get("max", 10**6)
        pattern = shape.metadata.get("pattern", ".*")
        return next(text for text in TEXTS if least <= len(text) <= most and matches(pattern, text))
    return {"integer": max(1, shape.metadata.get("min", 1)), "long": 1, "boolean": True, "map": {}}[shape.type_name]


KINDS = sorted(
    name.removeprefix("Create")
    for name in Resources(None, None, None).operations()  # the kinds come from the model, not from a sandbox
    if name.startswith("Create")
)


def minimal(kind):
    request = example(operation_model("sagemaker", f"Create{kind}").input_shape)
    for variant in request.get("ProductionVariants", ()):  # the model does not say that a variant needs instances
        variant |= {"InstanceType": "ml.g5.2xlarge", "InitialInstanceCount": 1}
    return request


@pytest.fixture
def one(world):
    one = world()
    one.call("CreateEndpointConfig", **minimal("EndpointConfig"))
    one.call("CreateEndpoint", **minimal("Endpoint"))
    one.go(minutes=5)
    return one


def test_the_kinds_hold_what_stacks_are_made_of_and_no_jobs():
    assert {"Model", "EndpointConfig", "Endpoint", "Cluster", "Pipeline", "ModelPackageGroup", "Experiment"} <= set(
        KINDS
    )
    assert [kind for kind in KINDS if "Job" in kind or kind == "TrainingPlan"] == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("EndpointConfig", "Endpoint")])
def test_a_resource_of_any_kind_is_created_described_listed_and_deleted_as_the_model_says(one, kind):
    name, request = {f"{kind}Name": f"{kind}-1".lower()}, minimal(kind)
    arn = one.call(f"Create{kind}", **(request | name))[f"{kind}Arn"]
    described = one.call(f"Describe{kind}", **name)
    assert described[f"{kind}Arn"] == arn
    assert described.get(f"{kind}Status") not in ("Creating", "Pending", "Failed")
    operations = service_model("sagemaker").operation_names
    if f"List{kind}s" in operations:
        answer = one.call(f"List{kind}s")
        (row,) = next(rows for rows in answer.values() if isinstance(rows, list))
        assert f"{kind}-1".lower() in row.values()
    if operation_model("sagemaker", f"Create{kind}").input_shape.members.get("Tags"):
        assert one.call("ListTags", ResourceArn=arn) == {"Tags": []}
    one.call(f"Delete{kind}", **(example(operation_model("sagemaker", f"Delete{kind}").input_shape) | name))
    with pytest.raises(ServiceError):
        one.call(f"Describe{kind}", **name)
    with pytest.raises(ServiceError):
        one.call("ListTags", ResourceArn=arn)


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        ("Model", "ValidationException", 'model "arn:aws:sagemaker:us-east-1:123456789012:model/a".'),
        (
            "EndpointConfig",
            "ValidationException",
            'endpoint configuration "arn:aws:sagemaker:us-east-1:123456789012:endpoint-config/a".',
        ),
        ("Endpoint", "ValidationException", 'endpoint "arn:aws:sagemaker:us-east-1:123456789012:endpoint/a".'),
        ("Cluster", "ResourceInUse", 'cluster "arn:aws:sagemaker:us-east-1:123456789012:cluster/'),
    ],
)
def test_a_name_is_used_once_and_what_is_not_there_is_not_found(one, kind, code, words):
    with pytest.raises(ServiceError) as missing:
        one.call(f"Describe{kind}", **{f"{kind}Name": "a"})
    assert missing.value.code == code.replace("InUse", "NotFound")
    assert f"Could not find {words}" in missing.value.message
    request = minimal(kind) | {f"{kind}Name": "a"}
    one.call(f"Create{kind}", **request)
    with pytest.raises(ServiceError) as twice:
        one.call(f"Create{kind}", **request)
    assert twice.value.code == code
    assert f"Cannot create already existing {words}" in twice.value.message


def test_a_cluster_goes_by_name_or_arn_and_shows_its_groups(one):
    group = {
        "InstanceGroupName": "gpu",
        "InstanceType": "ml.p5.48xlarge",
        "InstanceCount": 4,
        "ExecutionRole": "arn:aws:iam::123456789012:role/cluster",
    }
    arn = one.call("CreateCluster", ClusterName="train", InstanceGroups=[group])["ClusterArn"]
    for name in ("train", arn):
        (shown,) = one.call("DescribeCluster", ClusterName=name)["InstanceGroups"]
        assert (shown["InstanceGroupName"], shown["TargetCount"], shown["CurrentCount"]) == ("gpu", 4, 4)


def test_resources_are_listed_in_pages(one):
    for number in range(12):
        one.call("CreateModel", ModelName=f"m-{number:02d}")
        one.go(seconds=1)
    first = one.call("ListModels", SortBy="Name", SortOrder="Descending", MaxResults=7)
    second = one.call("ListModels", SortBy="Name", SortOrder="Descending", MaxResults=7, NextToken=first["NextToken"])
    names = [row["ModelName"] for row in first["Models"] + second["Models"]]
    assert names == [f"m-{number:02d}" for number in reversed(range(12))]
    late = one.call("DescribeModel", ModelName="m-09")["CreationTime"]
    assert len(one.call("ListModels", CreationTimeAfter=late)["Models"]) == 2


def test_a_filter_that_is_not_understood_is_refused(one):
    with pytest.raises(ServiceError, match="does not filter Trials by ExperimentName"):
        one.call("ListTrials", ExperimentName="e")


def test_what_the_sandbox_does_not_play_is_named(one):
    assert isinstance(one.sagemaker, SageMaker)
    with pytest.raises(ServiceError) as refused:
        one.sagemaker.handle("CreateTransformJob", {})
    assert refused.value.code == "UnknownOperationException"
    assert "the sandbox has no SageMaker operation CreateTransformJob; it has AddTags, " in refused.value.message
    with pytest.raises(ServiceError, match="sagemaker has no operation 'CreateNothing'"):
        one.sagemaker.handle("CreateNothing", {})
