"""Synth gives the same bytes every time, opens no socket and reads no clock."""

import json
import os
import subprocess
import sys
from pathlib import Path

import aws_cdk as cdk
import pytest

ROOT = Path(__file__).parents[2]
CONTEXT = json.loads((ROOT / "cdk.json").read_text())["context"]
# Loaded into node before the kernel: no socket can be opened, and the clock stands at another day.
GUARD_JS = """
const net = require('net'), dns = require('dns'), RealDate = Date, shift = Number(process.env.GUARD_SHIFT);
const refuse = () => { throw new Error('a socket was opened during synth'); };
net.Socket.prototype.connect = refuse; dns.lookup = refuse; dns.resolve = refuse;
global.Date = class extends RealDate {
  constructor(...args) { if (args.length) super(...args); else super(RealDate.now() + shift); }
  static now() { return RealDate.now() + shift; }
};
"""
GUARD_PY = """
import os, socket, time
def refuse(*args, **kwargs): raise AssertionError('a socket was opened during synth')
socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
real, shift = time.time, int(os.environ['GUARD_SHIFT']) / 1000
time.time = lambda: real() + shift
"""
DAY = 86_400_000


@pytest.fixture
def synth_guarded(tmp_path):
    """Return a function that synthesizes the reference app in a process of its own, guarded, and returns its files."""
    (tmp_path / "guard.js").write_text(GUARD_JS)

    def run(name, *, shift, validation, prelude=GUARD_PY):
        out = tmp_path / name
        script = f"{prelude}\nexec(compile(open('app.py').read(), 'app.py', 'exec'))"
        environment = {
            **os.environ,
            "CDK_CONTEXT_JSON": json.dumps(CONTEXT),
            "CDK_OUTDIR": str(out),
            "GUARD_SHIFT": str(shift),
            "NODE_OPTIONS": f"--require {tmp_path / 'guard.js'}",
            "PYTHONPATH": str(ROOT),
        }
        environment.pop("CDK_VALIDATION", None)
        if not validation:
            environment["CDK_VALIDATION"] = "false"
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    return run


def test_two_apps_of_one_process_are_the_same_text(tmp_path, make_job, synth):
    texts = []
    for name in ("one", "other"):
        stack = cdk.Stack(cdk.App(outdir=str(tmp_path / name)), "Research")
        make_job(scope=stack)
        make_job("Own", scope=stack, own_role=True, integration="optimized")
        texts.append(Path(stack.node.root.synth().get_stack_by_name("Research").template_full_path).read_text())
    assert texts[0] == texts[1]


@pytest.mark.slow
def test_the_reference_app_is_the_same_at_another_time_and_passes_the_built_in_validation(synth_guarded):
    today = synth_guarded("today", shift=0, validation=False)
    later = synth_guarded("later", shift=400 * DAY, validation=True)
    assert {name for name in today if name.endswith(".zip")}
    for name in ("Research.template.json", "Research.assets.json", *(n for n in today if n.endswith(".zip"))):
        assert today[name] == later[name]
    reports = json.loads(later["validation-report.json"])["pluginReports"]
    assert not [v for report in reports for v in report["violations"] if v["severity"] in ("error", "warning", "fatal")]


@pytest.mark.slow
def test_the_guard_against_sockets_would_notice_one(synth_guarded):
    opening = GUARD_PY + "socket.create_connection(('127.0.0.1', 9))"
    with pytest.raises(AssertionError, match="a socket was opened during synth"):
        synth_guarded("opened", shift=0, validation=False, prelude=opening)
