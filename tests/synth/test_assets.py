"""What ships to Lambda: our own code and the pinned service model, complete, small, and the same on every machine."""

import json
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from constructs_lib.shared import assets

HANDLERS = ("launcher", "drain")
# Runs without site: only the asset, the standard library and botocore's folder are there, as in Lambda.
CALL = """
import json, sys
sys.path[:0] = [sys.argv[1]]
sys.path.append(sys.argv[2])
import constructs_lib.runtime.handlers.launcher, constructs_lib.runtime.handlers.drain
from constructs_lib.rules import check_request
job = {"ResourceConfig": {"InstanceCount": 1, "InstancePreferences": [{"InstanceType": "ml.g5.xlarge"}] * 2}}
found = [finding.rule for finding in check_request("training-job", job) if finding.severity == "error"]
try:
    constructs_lib.runtime.handlers.launcher.route({"action": "dance"}, None)
except Exception as error:
    refused = str(error)
print(json.dumps({"modules": sorted({name.split(".")[0] for name in sys.modules}), "found": found, "refused": refused,
                  "from": constructs_lib.runtime.__file__}))
"""


@pytest.fixture
def unzipped(tmp_path):
    path, _ = assets.archive()
    zipfile.ZipFile(path).extractall(tmp_path)
    return tmp_path


def test_the_asset_holds_the_four_packages_and_the_service_model_and_nothing_else():
    names = list(assets.members())
    assert {name.split("/")[1] for name in names if name.startswith("constructs_lib/")} == {
        "facts",
        "model",
        "rules",
        "runtime",
    }
    models = sorted(name for name in names if not name.startswith("constructs_lib/"))
    assert models == [
        "models/application-autoscaling/2016-02-06/service-2.json.gz",
        "models/cloudformation/2010-05-15/service-2.json.gz",
        "models/dynamodb/2012-08-10/service-2.json.gz",
        "models/ec2/2016-11-15/service-2.json.gz",
        "models/events/2015-10-07/service-2.json.gz",
        "models/lambda/2015-03-31/service-2.json.gz",
        "models/sagemaker/2017-07-24/service-2.json.gz",
        "models/service-quotas/2019-06-24/service-2.json.gz",
        "models/sns/2010-03-31/service-2.json.gz",
        "models/stepfunctions/2016-11-23/service-2.json.gz",
    ]
    assert {f"constructs_lib/runtime/handlers/{name}.py" for name in HANDLERS} <= set(names)
    left_out = ("constructs_lib/__init__.py", "constructs_lib/rules/readers/", "constructs_lib/rules/formats/")
    assert not [name for name in names if name.startswith(left_out) or name.endswith(".pyc")]


def test_every_source_file_of_the_packages_is_in_the_asset():
    library = Path(assets.__file__).parent.parent
    sources = {
        path.relative_to(library.parent).as_posix()
        for package in ("facts", "model", "rules", "runtime")
        for path in (library / package).rglob("*.py")
        if not {"readers", "formats"} & set(path.parts)
    }
    assert len(sources) > 50
    assert {name for name in assets.members() if name.endswith(".py")} == sources


def test_the_zip_is_what_the_members_are_and_small():
    path, _ = assets.archive()
    with zipfile.ZipFile(path) as zipped:
        assert zipped.namelist() == list(assets.members())
        assert zipped.testzip() is None
    assert path.stat().st_size <= 1_500_000


def test_a_staged_folder_has_the_same_files(tmp_path, unzipped):
    folder = tmp_path.parent / f"{tmp_path.name}-staged"
    assets.stage(folder)
    for name in assets.members():
        assert (folder / name).read_bytes() == (unzipped / name).read_bytes()


def test_the_zip_and_its_hash_are_the_same_every_time():
    (one, first), (other, second) = (assets.archive.__wrapped__() for _ in range(2))
    assert one != other
    assert one.read_bytes() == other.read_bytes()
    assert first == second == assets.fingerprint()


def test_the_hash_changes_with_the_content_and_with_the_name_of_a_member_only(tmp_path, monkeypatch):
    source = tmp_path / "handler.py"

    def hash_of(name, text):
        source.write_text(text)
        monkeypatch.setattr(assets, "members", lambda: {name: source})
        return assets.fingerprint()

    hashes = [hash_of("a.py", "1"), hash_of("a.py", "2"), hash_of("b.py", "1")]
    assert len(set(hashes)) == 3
    assert hash_of("a.py", "1") == hashes[0]


def test_every_handler_runs_from_the_unzipped_asset_alone(unzipped):
    command = [sys.executable, "-I", "-S", "-c", CALL, str(unzipped), sysconfig.get_paths()["purelib"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["from"].startswith(str(unzipped))
    assert said["found"] == ["GPU-PL02"]
    assert "launch, stop, sweep, start and report" in said["refused"]
    assert not {"aws_cdk", "boto3", "constructs", "jsii", "yaml"} & set(said["modules"])


def test_an_asset_without_a_needed_file_would_be_noticed(unzipped):
    (unzipped / "constructs_lib" / "facts" / "job_states.json").unlink()
    (unzipped / "constructs_lib" / "model" / "naming.py").unlink()
    command = [sys.executable, "-I", "-S", "-c", CALL, str(unzipped), sysconfig.get_paths()["purelib"]]
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0
