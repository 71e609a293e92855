import argparse
import io
import json
import subprocess
from pathlib import Path

import botocore.session
import pytest
from botocore.validate import ParamValidator

from constructs_lib.cli import policy, policy_probe
from constructs_lib.cli.errors import UsageError
from constructs_lib.facts import iam

FIXTURES = Path(__file__).parent.parent / "fixtures" / "iam"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text())
CASES = {case["file"]: case["expected"] for case in EXPECTED["cases"]}
WORDS = {"ALLOW": "allowed", "DENY": "denied", "DENY(implicit)": "not allowed"}
# The command's name for each request of the corpus.
REQUESTS = {
    "approved only": "ml.m5.xlarge",
    "unapproved only": "ml.p5.48xlarge",
    "list approved+unapproved": "ml.m5.xlarge + ml.p5.48xlarge",
    "key absent": "no types",
}


@pytest.fixture
def gpucap():
    parser = argparse.ArgumentParser()
    policy.add_parser(parser.add_subparsers())

    def run(*words):
        args = parser.parse_args(["policy", *map(str, words)])
        return args.run(args)

    return run


@pytest.mark.parametrize("file", CASES)
def test_the_corpus_is_reproduced_cell_by_cell(gpucap, capsys, file):
    gpucap("explain", FIXTURES / file, "--types", "ml.m5.xlarge,ml.p5.48xlarge", "--format", "json")
    (answer,) = json.loads(capsys.readouterr().out)
    assert {row["action"] for row in answer["rows"]} == {
        "sagemaker:CreateTrainingJob",
        "sagemaker:CreateProcessingJob",
        "sagemaker:CreateEndpointConfig",
    }
    for row in answer["rows"]:
        found = {context: row["verdicts"][name]["verdict"] for context, name in REQUESTS.items()}
        assert found == {context: WORDS[word] for context, word in CASES[file].items()}


@pytest.mark.parametrize(
    ("file", "code", "rules"),
    [
        ("A_P1.json", 1, {"GPU-IAM01"}),
        ("A_P2.json", 1, {"GPU-IAM02"}),
        ("A_P4.json", 0, {"GPU-IAM04"}),
        ("A_P8.json", 0, set()),
        ("A_P9.json", 0, set()),
        ("field/awsdocs-condition-example-1.json", 1, {"GPU-IAM02"}),
    ],
)
def test_the_exit_code_says_whether_the_rules_found_an_error(gpucap, capsys, file, code, rules):
    assert gpucap("explain", FIXTURES / file, "--format", "json") == code
    assert {finding["rule"] for finding in json.loads(capsys.readouterr().out)[0]["findings"]} == rules


def test_a_person_reads_the_table_the_statement_and_the_finding(gpucap, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert gpucap("explain", FIXTURES / "A_P1.json", "--types", "ml.m5.xlarge,ml.p5.48xlarge") == 1
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if "ml.m5.xlarge + ml.p5.48xlarge" in line)
    assert "allowed" in row
    assert "Statement[0]" in row
    assert "GPU-IAM01" in out


def test_a_json_file_with_comments_is_refused_with_its_line(gpucap):
    with pytest.raises(UsageError, match=r"mlspace-job-instance-constraint\.json:34: not JSON: comments"):
        gpucap("explain", FIXTURES / "field" / "mlspace-job-instance-constraint.json")


def test_a_policy_over_every_action_lists_what_never_carries_a_type(gpucap, capsys, monkeypatch):
    text = json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}})
    monkeypatch.setattr("sys.stdin", argparse.Namespace(buffer=io.BytesIO(text.encode())))
    assert gpucap("explain", "-") == 0
    out = capsys.readouterr().out
    for action, gap in iam.gaps().items():
        if action in iam.actions():
            assert f"{action}: {gap.opens}; {gap.closes}" in out


def test_layers_beside_the_policy_count(gpucap, capsys, tmp_path):
    allow = {"Effect": "Allow", "Action": "sagemaker:CreateTrainingJob", "Resource": "*"}
    (tmp_path / "all.json").write_text(json.dumps({"Version": "2012-10-17", "Statement": [allow]}))
    asked = ("--types", "ml.p5.48xlarge", "--action", "sagemaker:createtrainingjob", "--format", "json")
    cell = lambda: json.loads(capsys.readouterr().out)[0]["rows"][0]["verdicts"]["ml.p5.48xlarge"]  # noqa: E731
    gpucap("explain", tmp_path / "all.json", *asked)
    assert cell()["verdict"] == "allowed"
    gpucap("explain", tmp_path / "all.json", "--boundary", FIXTURES / "A_P9.json", *asked)
    assert cell() == {"verdict": "not allowed", "by": ["permissions boundary"]}
    gpucap("explain", tmp_path / "all.json", "--scp", FIXTURES / "A_P4.json", *asked)
    assert cell() == {"verdict": "denied", "by": ["Statement[1]"]}


def test_a_deny_only_document_is_read_as_a_service_control_policy(gpucap, capsys, tmp_path):
    condition = {"ForAnyValue:StringNotLike": {iam.INSTANCE_TYPES_KEY: ["ml.m5.*"]}}
    deny = {"Effect": "Deny", "Action": "sagemaker:CreateTrainingJob", "Resource": "*", "Condition": condition}
    (tmp_path / "scp.json").write_text(json.dumps({"Version": "2012-10-17", "Statement": [deny]}))
    gpucap("explain", tmp_path / "scp.json", "--format", "json")
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["assumed"] == "a service control policy over a caller who may do everything"
    assert answer["rows"][0]["verdicts"]["no types"]["verdict"] == "allowed"


def test_other_condition_keys_can_be_given(gpucap, capsys, tmp_path):
    condition = {"NumericLessThanEquals": {"sagemaker:MaxRuntimeInSeconds": "3600"}}
    allow = {"Effect": "Allow", "Action": "sagemaker:CreateTrainingJob", "Resource": "*", "Condition": condition}
    (tmp_path / "hour.json").write_text(json.dumps({"Version": "2012-10-17", "Statement": [allow]}))
    for seconds, verdict in (("3600", "allowed"), ("3601", "not allowed")):
        gpucap(
            "explain",
            tmp_path / "hour.json",
            "--context",
            f"sagemaker:MaxRuntimeInSeconds={seconds}",
            "--format",
            "json",
        )
        assert json.loads(capsys.readouterr().out)[0]["rows"][0]["verdicts"]["no types"]["verdict"] == verdict


def test_every_policy_of_a_template_is_explained(gpucap, capsys, tmp_path):
    policies = [json.loads((FIXTURES / name).read_text()) for name in ("A_P1.json", "A_P9.json")]
    resources = {
        f"Policy{i}": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": one}}
        for i, one in enumerate(policies)
    }
    (tmp_path / "template.json").write_text(json.dumps({"Resources": resources}))
    assert gpucap("explain", tmp_path / "template.json", "--format", "json") == 1
    assert [one["resource"] for one in json.loads(capsys.readouterr().out)] == ["Policy0", "Policy1"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("explain", "nowhere.json"), "nowhere.json: No such file"),
        (("explain", FIXTURES / "expected.json"), "no known kind"),
        (("explain", FIXTURES / "A_P1.json", "--boundary", FIXTURES / "expected.json"), "not a policy document"),
        (("explain", FIXTURES / "A_P1.json", "--action", "sagemaker:Train"), "is no action that is known here"),
        (
            ("explain", FIXTURES / "A_P1.json", "--context", "region"),
            "write it like sagemaker:MaxRuntimeInSeconds=3600",
        ),
        (("probe", "me"), "'me' is no role ARN"),
        (("probe", "arn:aws:iam::111122223333:role/x", "--approved", "m5.large"), "is no training instance type"),
        (("probe", "arn:aws:iam::111122223333:role/x", "--unapproved", "ml.m5.large"), "must differ"),
    ],
)
def test_bad_input_is_refused_in_words(gpucap, words, message):
    with pytest.raises(UsageError, match=message):
        gpucap(*words)


class TestProbe:
    ROLE = "arn:aws:iam::111122223333:role/probe"

    def test_the_script_is_valid_shell_and_calls_nothing_when_printed(self, gpucap, capsys):
        assert gpucap("probe", self.ROLE) == 0
        script = capsys.readouterr().out
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
        assert script.count("aws sagemaker create-training-job") == 3

    def test_its_requests_are_ones_that_the_service_model_takes(self):
        model = botocore.session.get_session().get_service_model("sagemaker")
        shape = model.operation_model("CreateTrainingJob").input_shape
        for types in (["ml.m5.large"], ["ml.m5.large", "ml.m5.xlarge"]):
            report = ParamValidator().validate(policy_probe.training_request(self.ROLE, types), shape)
            assert not report.has_errors(), report.generate_report()

    def test_its_session_can_start_no_job_because_it_can_pass_no_role(self):
        (allow,) = policy_probe.session_policy("ml.m5.large")["Statement"]
        assert allow["Action"] == "sagemaker:CreateTrainingJob"
