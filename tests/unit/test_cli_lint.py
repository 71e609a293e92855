"""``gpucap lint`` and ``gpucap explain`` as people and scripts use them."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from constructs_lib.cli.main import main

FIXTURES = Path(__file__).parents[1] / "fixtures"
TWICE = {
    "TrainingJobName": "x",
    "ResourceConfig": {"InstanceCount": 1, "InstancePreferences": [{"InstanceType": "ml.g5.xlarge"}] * 2},
}
FINE = {
    "TrainingJobName": "x",
    "ResourceConfig": {
        "InstanceCount": 1,
        "VolumeSizeInGB": 100,
        "InstancePreferences": [{"InstanceType": "ml.g5.xlarge"}, {"InstanceType": "ml.g5.2xlarge"}],
    },
    "StoppingCondition": {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 3600},
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, data):
    Path(name).write_text(data if isinstance(data, str) else json.dumps(data, indent=2))
    return name


def run(capsys, *args):
    code = main(["lint", *args])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_good_file_exits_0(capsys):
    code, out, _ = run(capsys, write("fine.json", FINE))
    assert code == 0
    assert "1 file checked, 0 errors" in out


def test_a_bad_file_exits_1_and_says_the_rule_the_line_and_the_fix(capsys):
    code, out, _ = run(capsys, write("twice.json", TWICE))
    assert code == 1
    assert "GPU-PL02 ResourceConfig.InstancePreferences[1].InstanceType:10" in out
    assert "fix: name each type once" in out


def test_json_keeps_the_contract(capsys):
    code, out, _ = run(capsys, write("twice.json", TWICE), "--format", "json")
    report = json.loads(out)
    assert code == 1
    assert set(report) == {"checked", "findings", "unreadable"}
    finding = next(f for f in report["findings"] if f["rule"] == "GPU-PL02")
    assert list(finding) == [
        "rule", "severity", "phase", "file", "resource", "path", "line", "message", "fix", "source",
    ]  # fmt: skip
    assert (finding["severity"], finding["line"], finding["file"]) == ("error", 10, "twice.json")


def test_sarif_validates_against_its_schema(capsys):
    schema = json.loads((FIXTURES / "schemas" / "sarif-schema-2.1.0.json").read_text())
    write("broken.json", "{")
    _, out, _ = run(capsys, write("twice.json", TWICE), "broken.json", "--format", "sarif")
    log = json.loads(out)
    jsonschema.validate(log, schema)
    assert "GPU-PL02" in {result["ruleId"] for result in log["runs"][0]["results"]}
    log["runs"][0]["results"][0]["level"] = "catastrophe"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, schema)


def test_github_annotations_escape_what_the_format_reserves(capsys):
    write("twice, too.json", TWICE)
    _, out, _ = run(capsys, "twice, too.json", "--format", "github")
    assert "::error file=twice%2C too.json,line=10,title=GPU-PL02::" in out


def test_a_summary_is_appended_as_a_markdown_table(capsys):
    file = write("a|b.json", TWICE)
    write("summary.md", "before\n")
    assert run(capsys, file, "--summary", "summary.md")[0] == 1
    text = Path("summary.md").read_text()
    assert text.startswith("before\n### Capacity rules")
    assert "| error | GPU-PL02 | a\\|b.json:10 |" in text
    assert main(["lint", file, "--summary", "no/such/folder"]) == 2


def test_what_cannot_be_read_exits_2_and_the_rest_is_still_checked(capsys):
    code, out, _ = run(capsys, write("broken.json", '{"a": 1,\n // no\n}'), write("twice.json", TWICE))
    assert code == 2
    assert "broken.json:2" in out
    assert "GPU-PL02" in out


def test_warnings_fail_only_when_asked(capsys):
    single = FINE["ResourceConfig"] | {"InstancePreferences": [{"InstanceType": "ml.g5.xlarge"}]}
    file = write("single.json", FINE | {"ResourceConfig": single})
    assert run(capsys, file)[0] == 0
    assert run(capsys, file, "--fail-on", "warning")[0] == 1


def test_unverified_is_counted_and_shown_only_on_request(capsys):
    job = FINE | {"ResourceConfig": FINE["ResourceConfig"] | {"InstanceCount": {"Ref": "Count"}}}
    file = write("unknown.json", job)
    code, out, _ = run(capsys, file)
    assert (code, "not verifiable here" in out, "unverified GPU" in out) == (0, True, False)
    assert "unverified GPU" in run(capsys, file, "--show-unverified")[1]


def test_a_rule_can_be_ignored_and_an_unknown_one_is_refused(capsys):
    file = write("twice.json", TWICE)
    ids = {f["rule"] for f in json.loads(run(capsys, file, "--format", "json")[1])["findings"]}
    ignored = [part for rule_id in ids for part in ("--ignore", rule_id)]
    assert run(capsys, file, *ignored)[0] == 0
    code, _, err = run(capsys, file, "--ignore", "GPU-XX99")
    assert (code, "no such rule" in err) == (2, True)


def test_a_baseline_hides_what_is_known_and_shows_what_is_new(capsys):
    file = write("twice.json", TWICE)
    assert run(capsys, file, "--baseline", "known.json", "--update-baseline")[0] == 0
    code, out, _ = run(capsys, file, "--baseline", "known.json")
    assert (code, "known from the baseline" in out) == (0, True)
    entries = TWICE["ResourceConfig"]["InstancePreferences"] * 2
    write("twice.json", TWICE | {"ResourceConfig": {"InstanceCount": 1, "InstancePreferences": entries}})
    assert run(capsys, file, "--baseline", "known.json")[0] == 1


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--baseline", "nothing.json"], "--update-baseline"),
        (["--update-baseline"], "needs --baseline"),
        (["--now", "tomorrow"], "write it like"),
        (["--now", "2027-01-31T12:00"], "no time zone"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_words(capsys, args, words):
    file = write("fine.json", FINE)
    code = main(["lint", file, *args])
    assert (code, words in capsys.readouterr().err) == (2, True)


def test_defaults_come_from_pyproject(capsys):
    write("twice.json", TWICE)
    write("pyproject.toml", '[tool.gpucap.lint]\npaths = ["twice.json"]\nformat = "json"\n')
    code, out, _ = run(capsys)
    assert (code, json.loads(out)["checked"]) == (1, 1)


@pytest.mark.parametrize("text", ['[tool.gpucap.lint]\nfail-on = "never"\n', "[tool.gpucap.lint]\ncolour = 1\n", "["])
def test_a_bad_pyproject_is_refused_in_words(capsys, text):
    write("pyproject.toml", text)
    code, _, err = run(capsys, write("fine.json", FINE))
    assert (code, err.startswith("gpucap: pyproject.toml")) == (2, True)


def test_standard_input_is_read(tmp_path):
    command = [sys.executable, "-m", "constructs_lib.cli.main", "lint", "-", "--format", "json"]
    done = subprocess.run(command, input=json.dumps(TWICE), capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["findings"][0]["file"]) == (1, "-")


def test_lint_never_imports_cdk(tmp_path):
    write("fine.json", FINE)
    code = "import sys\nfrom constructs_lib.cli.main import main\nmain(['lint', 'fine.json'])\n"
    code += "print(sorted(m for m in ('aws_cdk', 'boto3', 'moto', 'jsii') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "[]"


def test_explain_says_why_and_where_from(capsys):
    assert main(["explain", "gpu-pl02"]) == 0
    out = capsys.readouterr().out
    for word in ("GPU-PL02", "why", "fix", "source"):
        assert word in out


def test_explain_lists_all_rules_and_refuses_an_unknown_one(capsys):
    assert main(["explain"]) == 0
    assert "GPU-PL01" in capsys.readouterr().out
    assert main(["explain", "GPU-XX99"]) == 2
    assert "is no rule" in capsys.readouterr().err
