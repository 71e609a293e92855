"""What others may be allowed to do with a job."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aws_cdk.aws_iam import Grant, IGrantable
    from aws_cdk.aws_stepfunctions import CfnStateMachine

    from constructs_lib.shared.policies import Statement

__all__ = ["JobGrants"]


class JobGrants:
    """Permissions on one job.

    Parameters
    ----------
    job : CfnStateMachine
    statements : list of dict
        What launching it takes, as IAM statements.
    """

    def __init__(self, job: CfnStateMachine, statements: list[Statement]) -> None:
        self._job, self._statements = job, statements

    def start(self, grantee: IGrantable) -> Grant:
        """Allow starting an execution of the job's machine."""
        from aws_cdk.aws_stepfunctions import StateMachineGrants  # noqa: PLC0415 - most jobs grant nothing

        return StateMachineGrants.from_state_machine(self._job).start_execution(grantee)

    def launch(self, grantee: IGrantable) -> Grant:
        """Allow what a machine of your own needs that has the job as a step."""
        from aws_cdk.aws_iam import Grant  # noqa: PLC0415

        grants = [
            Grant.add_to_principal(
                grantee=grantee,
                actions=statement["Action"],
                resource_arns=statement["Resource"],
                conditions=statement.get("Condition"),
            )
            for statement in self._statements
        ]
        return reduce(lambda one, other: one.combine(other), grants)
