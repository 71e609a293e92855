"""The engine: order, phases, ignoring, suppression, failures, and how little it imports."""

import shutil
import subprocess
import sys
import time
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

import constructs_lib
from constructs_lib.model import InvalidInputError
from constructs_lib.rules import (
    Finding,
    Kind,
    Phase,
    Severity,
    Subject,
    check,
    check_request,
    find_rule,
    raise_for_errors,
)
from constructs_lib.rules import engine as engine_module
from constructs_lib.rules.findings import error, unverified
from constructs_lib.rules.rule import Rule

DUPLICATE = {"ResourceConfig": {"InstanceCount": 1, "InstancePreferences": [{"InstanceType": "ml.g5.xlarge"}] * 2}}


def job(data=DUPLICATE, **where):
    return Subject(Kind.TRAINING_JOB, data, **where)


def ids(findings):
    return [finding.rule for finding in findings if finding.severity == "error"]


def a_rule(rule_id, check, **more):
    words = dict.fromkeys(("title", "why", "fix", "source"), "words")
    return Rule(id=rule_id, kinds=(Kind.TRAINING_JOB,), finds={Severity.ERROR: "words"}, check=check, **words, **more)


@pytest.fixture
def with_rules(monkeypatch):
    def use(*rules):
        monkeypatch.setattr(engine_module, "rules_for", lambda kind: rules)

    return use


def test_a_finding_names_file_resource_line_and_the_path_from_the_file():
    found = next(
        f for f in check([job(file="a.json", resource="Job", line=7, path="Job.Properties")]) if f.rule == "GPU-PL02"
    )
    assert (found.file, found.resource, found.line) == ("a.json", "Job", 7)
    assert found.path == "Job.Properties.ResourceConfig.InstancePreferences[1].InstanceType"


def test_findings_come_in_the_order_of_subjects_then_of_rules():
    bad = DUPLICATE | {"StoppingCondition": {"MaxPendingTimeInSeconds": 1}}
    findings = check([job(bad, file="b"), job(bad, file="a")])
    errors = [(f.file, f.rule) for f in findings if f.severity == "error"]
    assert errors == [("b", "GPU-PL02"), ("b", "GPU-PL07"), ("a", "GPU-PL02"), ("a", "GPU-PL07")]
    assert findings == check([job(bad, file="b"), job(bad, file="a")])


def test_a_request_is_judged_by_the_same_rules():
    findings = check_request("training-job", DUPLICATE, path="request")
    assert [(f.rule, f.path) for f in findings if f.severity == "error"] == [
        ("GPU-PL02", "request.ResourceConfig.InstancePreferences[1].InstanceType")
    ]


def test_an_unknown_kind_of_request_is_refused_with_the_kinds():
    with pytest.raises(InvalidInputError, match=r"kind: 'job' was given; the kinds are training-job, .*state-machine"):
        check_request("job", {})


def test_an_ignored_rule_is_silent_everywhere_or_for_one_subject():
    assert ids(check([job()], ignore=["GPU-PL02"])) == []
    assert ids(check([job(ignore=frozenset(["GPU-PL02"])), job()])) == ["GPU-PL02"]


def test_ignoring_a_rule_that_does_not_exist_is_refused():
    with pytest.raises(InvalidInputError, match="no rule GPU-PL99"):
        check([job()], ignore=["GPU-PL99"])


def test_a_clock_without_a_zone_is_refused():
    with pytest.raises(InvalidInputError, match="has no time zone"):
        check([job()], now=datetime(2027, 1, 1))  # noqa: DTZ001 - the point of the test
    assert check([job()], now=datetime(2027, 1, 1, tzinfo=UTC))


def test_only_findings_of_the_phases_asked_for_are_returned(with_rules):
    with_rules(a_rule("GPU-XX01", lambda s, a: [error("now"), error("later", phase=Phase.RUN)], phase=Phase.DEPLOY))
    assert [(f.message, f.phase) for f in check([job()])] == [("now", "deploy"), ("later", "run")]
    assert [f.message for f in check([job()], phases=[Phase.RUN])] == ["later"]


def test_a_rule_that_fails_is_an_error_in_words_and_stops_no_other(with_rules):
    def fails(subject, app):
        yield error("first")
        raise KeyError("Type")

    with_rules(a_rule("GPU-XX01", fails), a_rule("GPU-XX02", lambda s, a: [error("second")]))
    findings = check([job(path="Job")])
    assert [(f.rule, str(f.severity)) for f in findings] == [
        ("GPU-XX01", "error"),
        ("GPU-XX01", "error"),
        ("GPU-XX02", "error"),
    ]
    assert findings[1].message == "the rule itself failed on this training-job: KeyError: 'Type'"
    assert findings[1].path == "Job"


def test_the_more_specific_rule_speaks_alone_about_one_place(with_rules):
    general = a_rule("GPU-XX01", lambda s, a: [error("general", "A"), error("general", "B")])
    specific = a_rule("GPU-XX02", lambda s, a: [error("specific", "A")], suppresses=("GPU-XX01",))
    with_rules(general, specific)
    assert [(f.message, f.path) for f in check([job()])] == [("general", "B"), ("specific", "A")]
    both = check([job(file="one"), job(file="two", ignore=frozenset(["GPU-XX02"]))])
    assert [(f.file, f.message, f.path) for f in both if f.file == "two"] == [
        ("two", "general", "A"),
        ("two", "general", "B"),
    ]


def test_a_specific_rule_that_does_not_know_leaves_the_general_one_its_word(with_rules):
    general = a_rule("GPU-XX01", lambda s, a: [error("general", "A")])
    with_rules(general, a_rule("GPU-XX02", lambda s, a: [unverified("who knows", "A")], suppresses=("GPU-XX01",)))
    assert [f.message for f in check([job()])] == ["general", "who knows"]


def test_all_errors_are_raised_together_in_the_words_of_the_rules():
    with pytest.raises(InvalidInputError) as raised:
        raise_for_errors(check([job(DUPLICATE | {"StoppingCondition": {"MaxPendingTimeInSeconds": 1}})]))
    assert [line.split(" ")[0] for line in str(raised.value).splitlines()] == ["GPU-PL02", "GPU-PL07"]
    raise_for_errors([])


def test_unknown_values_and_warnings_raise_nothing():
    raise_for_errors(check_request("training-job", {"ResourceConfig": {"Ref": "Resources"}}))


def test_a_finding_reads_as_one_line():
    found = Finding(
        rule="GPU-PL02", severity=Severity.ERROR, phase=Phase.SYNTH, message="what", fix="do", source="s", path="A.B"
    )
    assert str(found) == "GPU-PL02 at A.B: what; do"


def test_an_id_that_does_not_exist_is_answered_with_the_ids():
    assert find_rule("GPU-PL02").title
    with pytest.raises(InvalidInputError, match=r"no rule 'GPU-PL00': the ids are .*GPU-PL02"):
        find_rule("GPU-PL00")


PROBE = """
import sys
from constructs_lib.rules import check_request
request = {"ResourceConfig": {"InstanceCount": 1, "InstancePreferences": [{"InstanceType": "ml.g5.xlarge"}] * 2}}
print([f.rule for f in check_request("training-job", request) if f.severity == "error"])
modules = [m.split(".") for m in sys.modules if m.startswith("constructs_lib.rules.")]
print(*sorted({m[2] for m in modules if "_" in m[-1]}))
print(*sorted(m for m in ("yaml", "boto3", "botocore", "aws_cdk") if m in sys.modules))
"""


def copied_tree(target):
    source = Path(constructs_lib.__file__).parent
    for part in ("facts", "model", "rules"):
        leave = shutil.ignore_patterns("*.pyc", "__pycache__", "readers", "formats")
        shutil.copytree(source / part, target / "constructs_lib" / part, ignore=leave)
    return target


def probe(path):
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(path)!r})\n{PROBE}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.splitlines()


def test_the_rules_work_in_a_copied_tree_without_the_package_init_and_without_site_packages(tmp_path):
    found, loaded, foreign = probe(copied_tree(tmp_path))
    assert found == "['GPU-PL02']"
    assert foreign == ""
    assert "iam" not in loaded.split()
    assert not {"purchases", "workflows"} & set(loaded.split())


def test_the_rules_work_from_a_zip(tmp_path):
    tree = copied_tree(tmp_path / "tree")
    with zipfile.ZipFile(tmp_path / "asset.zip", "w") as archive:
        for path in sorted(tree.rglob("*")):
            archive.write(path, path.relative_to(tree))
    assert probe(tmp_path / "asset.zip")[0] == "['GPU-PL02']"


def test_a_thousand_jobs_are_judged_in_a_moment():
    """Against a floor on the same machine: 1,000,000 turns of an empty loop take about 20 ms on a quiet one."""
    types = ("ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g6e.48xlarge")
    preferences = [{"InstanceType": name, "InstanceCount": 8} for name in types]
    request = {
        "ResourceConfig": {"InstancePreferences": preferences},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86400, "MaxPendingTimeInSeconds": 7200},
    }
    check([job(request)])
    ratios = []
    for _ in range(7):
        subjects = [job(request) for _ in range(1000)]
        started = time.process_time()
        check(subjects)
        judged = time.process_time()
        for _ in range(1_000_000):
            pass
        ratios.append((judged - started) / (time.process_time() - judged))
    assert min(ratios) < 15, ratios
