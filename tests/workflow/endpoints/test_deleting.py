"""A stack that is deleted while its endpoint is in transition.

The tests of this file share a sandbox and go forward in time, each on a plan of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(open_site: Callable[..., Any], plan: Callable[..., Any]) -> Any:
    return open_site([plan("made", start="1h", end="1d"), plan("changed", start="2d", end="3d")])


def test_while_it_is_created(site: Any) -> None:
    site.begin("made")
    site.deploy({"plan": "made"})
    site.until(lambda: site.log("Creating"))
    assert site.delete() == "DELETED", site.reasons
    assert [row["what"] for row in site.rows()] == ["Creating", "InService", "Deleting", "deleted"]
    assert site.wrongs() + site.left() == []


def test_while_it_is_updated(site: Any) -> None:
    site.begin("changed")
    site.deploy({"plan": "changed", "instance_count": 1})
    site.until(lambda: site.state() == "InService")
    site.deploy({"plan": "changed", "instance_count": 1, "model_name": "m2"})
    site.until(lambda: site.log("Updating"))
    assert site.endpoint()["EndpointStatus"] == "Updating"
    assert site.delete() == "DELETED", site.reasons
    assert [row["what"] for row in site.rows()][-3:] == ["InService", "Deleting", "deleted"]
    assert site.wrongs() + site.left() == []
