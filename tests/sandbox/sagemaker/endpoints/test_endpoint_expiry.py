"""What happens to an endpoint when its reserved capacity ends."""

import pytest

from constructs_lib.sandbox.errors import ServiceError

DAY = 24 * 60
END = 23 * 60  # minutes after the start at which the plan ends
EXPIRED = r"^ModelError: Endpoint capacity reservation has expired\. Please update endpoint configuration\.$"


def expired(hosting, reading="InService", **plan):
    one = hosting(plan=plan, switches={"expired": reading})
    one.running("blue", plan="plan")
    one.go(hours=24)
    return one


@pytest.mark.parametrize("minutes", ["30", "60", "0"])
def test_instances_go_some_minutes_before_the_end(hosting, minutes):
    one = hosting(plan={}, switches={"plan-cut": minutes})
    one.running("blue", plan="plan")
    one.go(minutes=END - 5 - int(minutes) - 1)
    assert (one.invoke(), one.plan()) == ("all", (4, 2, 2))
    one.go(minutes=1)
    with pytest.raises(ServiceError, match=EXPIRED) as refused:
        one.endpoints.invoke("chat")
    assert refused.value.status == 424
    assert (one.counts(), one.plan()) == ({"all": (0, 2)}, (4, 4, 0))
    assert one.history()[-1] == ("reservation expired", END - int(minutes))


@pytest.mark.parametrize("reading", ["InService", "Failed", "OutOfService"])
def test_the_status_after_the_end_is_an_open_question_and_the_answer_to_requests_is_not(hosting, reading):
    one = expired(hosting, reading)
    assert (one.state(), one.invoke()) == ((reading, "blue"), "ModelError")
    one.config("green")
    if reading == "Failed":
        one.refused("it can only be deleted", one.update, "green")
    else:
        one.update("green")
        assert one.invoke() == "ModelError"
        one.go(minutes=6)
        assert (one.state(), one.invoke()) == (("InService", "green"), "all")
        assert one.counts() == {"all": (2, 2)}
    one.delete()
    one.go(minutes=1)
    one.refused("Could not find endpoint", one.describe)


def test_an_expired_endpoint_whose_update_finds_no_capacity_stays_expired(hosting):
    one = hosting(plan={}, types={"ml.g5.48xlarge": 0})
    one.running("blue", plan="plan")
    one.go(hours=24)
    one.config("green")
    one.update("green")
    one.go(hours=1)
    assert (one.state(), one.invoke(), one.counts()) == (("InService", "blue"), "ModelError", {"all": (0, 2)})


def test_an_update_away_from_the_plan_survives_its_end(hosting):
    one = hosting(plan={}, types={"ml.g5.48xlarge": [{"at": f"{END}m", "free": 2}]}, endpoint={"capacity_wait": "2h"})
    one.running("blue", plan="plan")
    one.go(minutes=END - 5 - 60)
    one.config("green")
    one.update("green")
    one.go(minutes=50)
    assert (one.state(), one.invoke()) == (("Updating", "blue"), "ModelError")
    one.go(minutes=16)
    assert (one.state(), one.invoke()) == (("InService", "green"), "all")


def test_an_update_onto_a_plan_that_ends_on_the_way_goes_back(hosting):
    one = hosting(plan={})
    one.running("blue")
    one.go(minutes=END - 30 - 5 - 3)
    one.config("green", plan="plan")
    one.update("green")
    one.go(minutes=6)
    assert (one.state(), one.invoke(), one.plan()) == (("InService", "blue"), "all", (4, 4, 0))
    assert "reservation has expired" in one.describe()["FailureReason"]


def test_an_endpoint_that_is_made_too_late_fails(hosting):
    one = hosting(plan={})
    one.go(minutes=END - 30 - 3)
    one.config("blue", plan="plan")
    one.create("blue")
    one.go(minutes=3)
    assert (one.state()[0], one.plan()) == ("Failed", (4, 4, 0))
    one.config("green", plan="plan")  # the plan is still Active, its instances have gone
    one.create("green", "second")
    assert one.state("second")[0] == "Failed"


def test_a_change_of_number_does_not_outlive_the_plan(hosting):
    one = hosting(plan={})
    one.running("blue", plan="plan")
    one.go(minutes=END - 30 - 5 - 1)
    one.scale(3)
    one.go(minutes=10)
    assert (one.state(), one.counts(), one.plan(), one.invoke()) == (
        ("InService", "blue"),
        {"all": (0, 2)},
        (4, 4, 0),
        "ModelError",
    )


@pytest.mark.parametrize(("reading", "answer"), [("keeps", "all"), ("ends", "ModelError")])
def test_an_extension_keeps_the_endpoint_alive_or_not(hosting, reading, answer):
    one = hosting(plan={"upfront_fee": "1000.00"}, switches={"extension": reading})
    one.running("blue", plan="plan")
    arn = one.call("DescribeTrainingPlan", TrainingPlanName="plan")["TrainingPlanArn"]
    (offer, *_) = one.call("SearchTrainingPlanOfferings", TrainingPlanArn=arn)["TrainingPlanExtensionOfferings"]
    one.call("ExtendTrainingPlan", TrainingPlanExtensionOfferingId=offer["TrainingPlanExtensionOfferingId"])
    one.go(minutes=END)
    assert (one.invoke(), one.call("DescribeTrainingPlan", TrainingPlanName="plan")["Status"]) == (answer, "Active")
    if reading == "ends":  # a new configuration takes what the plan has
        one.config("green", plan="plan")
        one.update("green")
        one.go(minutes=6)
        assert (one.invoke(), one.plan()[2]) == ("all", 2)
    one.go(minutes=DAY)
    assert (one.invoke(), one.plan()[2]) == ("ModelError", 0)


def test_between_segments_there_are_no_instances_and_the_next_one_gives_them_anew(hosting):
    segments = [{"start": "-1h", "end": "5h"}, {"start": "10h", "end": "20h"}]
    plan = {"name": "plan", "instance_type": "ml.p5.48xlarge", "count": 4, "target": "endpoint", "segments": segments}
    one = hosting(plans=[plan])
    one.running("blue", plan="plan")
    one.go(hours=6)
    assert one.invoke() == "ModelError"
    one.refused("is not in the Active status; it is Scheduled", one.config, "green", plan="plan")
    one.go(hours=5)
    assert one.invoke() == "ModelError"
    one.config("green", plan="plan")
    one.update("green")
    one.go(minutes=6)
    assert (one.state(), one.invoke(), one.plan()) == (("InService", "green"), "all", (4, 2, 2))
