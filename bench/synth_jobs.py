"""Build and synth of 200 jobs: ours, the raw L1 loop, the L2 task way, and node's own aws-cdk-lib."""

from __future__ import annotations

import tarfile
from importlib.resources import files
from pathlib import Path

from bench.runner import CASES, ROOT, Variant, beyond, measure, python

TITLE = "build + synth of 200 jobs: processor time beyond an app with one job (built-in validation off)"
BUDGETS = [
    ("PreferenceTrainingJob", "raw CfnStateMachine loop", 1.3),
    ("PreferenceTrainingJob", "L2 tasks", 0.1),
    ("PreferenceTrainingJob", "node", 6.0),
]
NODE_MODULES = ROOT / "bench" / ".node_modules"


def run() -> dict[str, list[float]]:
    """Return processor seconds per variant and round, less those of the same app with a single job."""
    node_path = {"NODE_PATH": str(unpack_node_packages())}
    python_ways = [
        Variant("one job", python("ours", "1")),
        Variant("PreferenceTrainingJob", python("ours")),
        Variant("raw CfnStateMachine loop", python("raw")),
        Variant("L2 tasks", python("l2_tasks")),
    ]
    node_ways = [
        Variant("one job", ["node", str(CASES / "raw.js"), "1"], node_path),
        Variant("node", ["node", str(CASES / "raw.js")], node_path),
    ]
    return beyond(measure(python_ways, "cpu"), "one job") | beyond(measure(node_ways, "cpu"), "one job")


def unpack_node_packages() -> Path:
    """Unpack the JavaScript that the Python packages carry, so that node measures the very same code."""
    for package in ("aws_cdk", "constructs", *_asset_packages()):
        for archive in Path(str(files(package))).glob("_jsii/*.jsii.tgz"):
            _unpack(archive)
    return NODE_MODULES


def _asset_packages() -> list[str]:
    found = Path(str(files("aws_cdk"))).glob("*/_jsii")
    return [f"aws_cdk.{path.parent.name}" for path in found]


def _unpack(archive: Path) -> None:
    name = archive.name.rsplit("@", 1)[0]
    scoped = {"cloud-assembly-schema", "asset-awscli-v1", "asset-node-proxy-agent-v6"}
    target = NODE_MODULES / (f"@aws-cdk/{name}" if name in scoped else name)
    if target.exists():
        return
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            member.name = member.name.removeprefix("package/")
            tar.extract(member, target, filter="data")
