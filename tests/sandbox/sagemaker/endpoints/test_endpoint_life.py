"""From CreateEndpoint to DeleteEndpoint."""

import pytest

from constructs_lib.sandbox.errors import SandboxError

P5 = "ml.p5.48xlarge"
BUSY = r'Cannot update in-progress endpoint "arn:aws:sagemaker:us-east-1:123456789012:endpoint/chat"\.$'


def test_an_endpoint_comes_serves_and_goes_and_gives_its_instances_back(hosting):
    one = hosting(plan={})
    one.config("blue", plan="plan")
    one.create("blue")
    assert one.state() == ("Creating", "blue")
    assert (one.reserved(), one.plan()) == ((4, 2, 2), (4, 2, 2))
    one.go(minutes=4)
    assert (one.counts(), one.invoke()) == ({"all": (0, 2)}, "ValidationError")
    one.go(minutes=1)
    assert (one.state(), one.counts(), one.invoke()) == (("InService", "blue"), {"all": (2, 2)}, "all")
    one.delete()
    assert (one.state()[0], one.invoke()) == ("Deleting", "ValidationError")
    one.go(minutes=1)
    one.refused("Could not find endpoint", one.describe)
    assert one.plan() == (4, 4, 0)
    assert one.history() == [("Creating", 0), ("InService", 5), ("Deleting", 5), ("deleted", 6)]
    one.create("blue")  # the name and the plan's instances can be used again
    one.go(minutes=5)
    assert one.state() == ("InService", "blue")


def test_the_capacity_file_says_how_long_it_takes_by_the_names_of_endpoint_or_configuration(hosting):
    slow = {"create": "10m", "delete": "3m", "overrides": {"quick-*": {"create": "1m"}, "chat": {"create": "20m"}}}
    one = hosting(endpoint=slow)
    for config, name in (("blue", "chat"), ("quick-1", "other"), ("blue", "third")):
        if (config, name) != ("blue", "third"):
            one.config(config)
        one.create(config, name)
    one.go(hours=1)
    assert [one.history(name)[1] for name in ("chat", "other", "third")] == [
        ("InService", 20),
        ("InService", 1),
        ("InService", 10),
    ]


def test_what_is_in_progress_takes_no_other_call(hosting):
    one = hosting()
    one.config("blue")
    one.config("green")
    one.create("blue")

    def check():
        for call, arguments in ((one.update, ("green",)), (one.scale, (3,)), (one.delete, ())):
            assert one.refused(BUSY, call, *arguments) == "ValidationException"

    check()
    one.go(minutes=5)
    one.update("green")
    check()
    one.go(minutes=6)
    one.endpoints.set_status("chat", "SystemUpdating")
    check()
    assert one.invoke() == "all"
    one.endpoints.set_status("chat", "InService")
    one.delete()
    check()


def test_a_failed_endpoint_can_only_be_deleted(hosting):
    one = hosting(types={P5: 0}, endpoint={"capacity_wait": "20m"})
    one.config("blue", type_=P5)
    one.create("blue")
    one.go(minutes=20)
    assert one.state() == ("Failed", "blue")
    assert "InsufficientInstanceCapacity" in one.describe()["FailureReason"]
    one.refused("in status Failed: it can only be deleted", one.update, "blue")
    one.delete()
    one.go(minutes=1)
    one.refused("Could not find", one.describe)


def test_instances_that_do_not_come_into_service_let_the_endpoint_fail_and_are_given_back(hosting):
    one = hosting(plan={}, endpoint={"overrides": {"broken": {"fail": "The container did not pass the health check."}}})
    one.config("broken", plan="plan")
    one.create("broken")
    one.go(minutes=5)
    assert (one.state()[0], one.describe()["FailureReason"]) == (
        "Failed",
        "The container did not pass the health check.",
    )
    assert one.plan() == (4, 4, 0)


def test_an_endpoint_out_of_service_answers_nothing_and_can_be_updated(hosting):
    one = hosting()
    one.running("blue")
    one.endpoints.set_status("chat", "OutOfService")
    assert one.invoke() == "ValidationError"
    one.config("green")
    one.update("green")
    one.go(minutes=6)
    assert (one.state(), one.invoke()) == (("InService", "green"), "all")


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("nobody", "InService", "there is no endpoint 'nobody': create it first"),
        ("chat", "Creating", "'Creating' can not be given: use one of InService, OutOfService"),
        ("chat", "InService", "endpoint chat is Creating: wait until that is over"),
    ],
)
def test_a_status_is_given_only_where_it_can_be(hosting, name, status, words):
    one = hosting()
    one.config("blue")
    one.create("blue")
    with pytest.raises(SandboxError, match=words):
        one.endpoints.set_status(name, status)


@pytest.mark.parametrize(
    ("reading", "words"), [("IN_SERVICE", ["CREATING", "IN_SERVICE"]), ("InService", ["Creating", "InService"])]
)
def test_each_change_is_told_as_an_event(hosting, reading, words):
    one = hosting(switches={"events": reading})
    one.config("blue")
    arn = one.create("blue", Tags=[{"Key": "team", "Value": "chat"}])["EndpointArn"]
    one.go(minutes=5)
    assert [event[:2] for event in one.world.events] == [("aws.sagemaker", "SageMaker Endpoint State Change")] * 2
    assert [event[2]["EndpointStatus"] for event in one.world.events] == words
    assert one.world.events[-1][2:] == (
        {
            "EndpointName": "chat",
            "EndpointArn": arn,
            "EndpointConfigName": "blue",
            "EndpointStatus": words[-1],
            "CreationTime": one.start * 1000,
            "LastModifiedTime": (one.start + 300) * 1000,
            "Tags": {"team": "chat"},
        },
        [arn],
    )


def test_endpoints_are_listed_with_their_status(hosting):
    one = hosting()
    one.running("blue")
    one.create("blue", "second")
    rows = one.call("ListEndpoints", SortBy="Name", SortOrder="Ascending")["Endpoints"]
    assert [(row["EndpointName"], row["EndpointStatus"]) for row in rows] == [
        ("chat", "InService"),
        ("second", "Creating"),
    ]
    (row,) = one.call("ListEndpoints", StatusEquals="Creating")["Endpoints"]
    assert row["EndpointName"] == "second"
    one.refused("Cannot create already existing endpoint", one.create, "blue")
    one.refused("Could not find endpoint configuration", one.create, "nobody", "third")


def test_what_a_configuration_says_beside_its_variants_is_described(hosting):
    one = hosting()
    capture = {
        "EnableCapture": True,
        "InitialSamplingPercentage": 10,
        "DestinationS3Uri": "s3://bucket/data",
        "CaptureOptions": [{"CaptureMode": "Input"}],
    }
    queue = {"OutputConfig": {"S3OutputPath": "s3://bucket/out"}}
    one.config(
        "blue",
        RoutingConfig={"RoutingStrategy": "RANDOM"},
        members={"DataCaptureConfig": capture, "AsyncInferenceConfig": queue},
    )
    one.create("blue")
    about = one.describe()
    assert about["AsyncInferenceConfig"] == queue
    assert (about["DataCaptureConfig"]["CaptureStatus"], about["DataCaptureConfig"]["CurrentSamplingPercentage"]) == (
        "Started",
        10,
    )
    assert about["ProductionVariants"][0]["RoutingConfig"] == {"RoutingStrategy": "RANDOM"}


def test_a_serverless_variant_needs_no_instances(hosting):
    one = hosting()
    row = {
        "VariantName": "all",
        "ModelName": "model",
        "ServerlessConfig": {"MemorySizeInMB": 2048, "MaxConcurrency": 5},
    }
    one.config("blue", row)
    one.create("blue")
    one.go(minutes=5)
    assert (one.invoke(), one.describe()["ProductionVariants"][0]["CurrentServerlessConfig"]["MemorySizeInMB"]) == (
        "all",
        2048,
    )
