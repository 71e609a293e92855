"""``gpucap policy probe``: the commands that find out, at no cost, what sagemaker:InstanceTypes holds for a list."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from typing import Any

from constructs_lib.cli.errors import UsageError
from constructs_lib.facts import api_instance_types, iam

__all__ = ["add_parser", "run", "training_request"]

DESCRIPTION = """\
AWS documents that sagemaker:InstanceTypes is the list of all instance types in the request. Whether it holds every
entry of InstancePreferences has not been shown. This prints a shell script that finds out in your account; it calls
nothing itself.

The script assumes ROLE with a session policy that allows CreateTrainingJob for one type only and does not allow
iam:PassRole, so that no request can start a job: every one of the three is refused, and the wording tells which
permission was missing.
"""
ROLE = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+")


def add_parser(subparsers: Any) -> None:
    """Add ``probe``."""
    parser = subparsers.add_parser(
        "probe",
        help="print the commands that show whether the key holds every entry of a list",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("role", metavar="ROLE", help="ARN of a role that you may assume and that may CreateTrainingJob")
    parser.add_argument("--approved", default="ml.m5.large", metavar="TYPE", help="the type that is allowed")
    parser.add_argument("--unapproved", default="ml.m5.xlarge", metavar="TYPE", help="the type that is not")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    if not ROLE.fullmatch(args.role):
        raise UsageError(f"{args.role!r} is no role ARN; write it like arn:aws:iam::111122223333:role/probe")
    for name in (args.approved, args.unapproved):
        if name not in api_instance_types("training"):
            raise UsageError(f"{name!r} is no training instance type; take two cheap ones such as ml.m5.large")
    if args.approved == args.unapproved:
        raise UsageError("--approved and --unapproved must differ")
    print(_script(args.role, args.approved, args.unapproved))
    return 0


def session_policy(approved: str) -> dict[str, Any]:
    """Allow CreateTrainingJob for one type, and no PassRole: nothing that this allows can start a job."""
    condition = {
        "ForAllValues:StringEquals": {iam.INSTANCE_TYPES_KEY: [approved]},
        "Null": {iam.INSTANCE_TYPES_KEY: "false"},
    }
    allow = {"Effect": "Allow", "Action": "sagemaker:CreateTrainingJob", "Resource": "*", "Condition": condition}
    return {"Version": "2012-10-17", "Statement": [allow]}


def training_request(role: str, types: list[str]) -> dict[str, Any]:
    """Return a CreateTrainingJob request with these types as preferences."""
    return {
        "TrainingJobName": "gpucap-policy-probe",
        "AlgorithmSpecification": {"TrainingImage": "gpucap-policy-probe", "TrainingInputMode": "File"},
        "RoleArn": role,
        "OutputDataConfig": {"S3OutputPath": "s3://gpucap-policy-probe/"},
        "ResourceConfig": {
            "InstancePreferences": [{"InstanceType": name, "InstanceCount": 1} for name in types],
            "VolumeSizeInGB": 1,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
    }


def _script(role: str, approved: str, unapproved: str) -> str:
    def ask(title: str, types: list[str]) -> str:
        request = shlex.quote(json.dumps(training_request(role, types)))
        return f"echo {shlex.quote(title)}\naws sagemaker create-training-job --cli-input-json {request} 2>&1 || true"

    query = "Credentials.[AccessKeyId,SecretAccessKey,SessionToken]"
    policy = shlex.quote(json.dumps(session_policy(approved)))
    return f"""\
#!/usr/bin/env bash
# No job can start: the session may not pass a role. Nothing is created, so nothing is billed.
set -euo pipefail
read -r AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN < <(
  aws sts assume-role --role-arn {shlex.quote(role)} --role-session-name gpucap-policy-probe \\
    --policy {policy} --query '{query}' --output text)
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
unset AWS_PROFILE
{ask(f"1. only the approved type {approved}", [approved])}
{ask(f"2. only the unapproved type {unapproved}", [unapproved])}
{ask(f"3. a list with both, {approved} first", [approved, unapproved])}
cat <<'WORDS'
How to read it:
  1 must name iam:PassRole and 2 must name sagemaker:CreateTrainingJob; otherwise this tells nothing about 3.
  3 names sagemaker:CreateTrainingJob: the key holds every entry, the policy refuses a mixed list.
  3 names iam:PassRole: the key does not hold the second entry, only the launcher's own check refuses a mixed list.
WORDS"""
