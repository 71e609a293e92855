import json
from datetime import datetime
from pathlib import Path

import pytest

from constructs_lib.rules import Carrier, Kind, Subject, check

FIXTURES = Path(__file__).parent.parent / "fixtures" / "rules"


class Fixture:
    """One file of tests/fixtures/rules/<ID>: subjects, what is declared, and what the rule must say."""

    def __init__(self, path):
        self.path, self.rule = path, path.parent.name
        self.raw = json.loads(path.read_text())
        self.expect = [tuple(pair) for pair in self.raw.get("expect", [])]

    @property
    def name(self):
        return f"{self.rule}/{self.path.stem}"

    def subjects(self):
        return [self.subject(raw) for raw in self.raw.get("subjects", [self.raw])]

    def subject(self, raw):
        fields = {
            k: v for k, v in raw.items() if k not in ("kind", "data", "carrier", "expect", "now", "declared", "why")
        }
        return Subject(Kind(raw["kind"]), raw["data"], carrier=Carrier(raw.get("carrier", "request")), **fields)

    def findings(self):
        now = self.raw.get("now")
        now = datetime.fromisoformat(now) if now else None
        return check(self.subjects(), now=now, declared=self.raw.get("declared"))

    def own(self):
        return [finding for finding in self.findings() if finding.rule == self.rule]

    def complaint(self):
        """Return how the rule disagrees with this fixture, ``None`` if it agrees."""
        said = [(str(finding.severity), finding.path) for finding in self.own()]
        if self.path.stem.startswith("bad"):
            loud = sorted(pair for pair in said if pair[0] != "unverified")
            return None if loud == sorted(self.expect) and loud else f"expected {self.expect}, said {loud}"
        if self.path.stem.startswith("good"):
            return f"expected nothing, said {said}" if said else None
        return None if {severity for severity, _ in said} == {"unverified"} else f"expected unverified, said {said}"


def fixtures(pattern):
    return [Fixture(path) for path in sorted(FIXTURES.glob(f"*/{pattern}.json"))]


def parameters(pattern):
    return pytest.mark.parametrize("fixture", fixtures(pattern), ids=lambda fixture: fixture.name)


def pytest_generate_tests(metafunc):
    for prefix in ("bad", "good", "unknown"):
        if prefix in metafunc.fixturenames:
            found = fixtures(f"{prefix}*")
            metafunc.parametrize(prefix, found, ids=[fixture.name for fixture in found])


@pytest.fixture(scope="session")
def rule_fixtures():
    return {prefix: fixtures(f"{prefix}*") for prefix in ("bad", "good", "unknown")}
