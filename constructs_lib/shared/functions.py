"""Lambda functions with the library's own runtime code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import AssetHashType, aws_lambda, aws_s3_assets

from constructs_lib.shared import assets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs import Construct

__all__ = ["TESTED_RUNTIME", "RuntimeCode"]

TESTED_RUNTIME = "the newest runtime that this version of the library is tested with"
"""Why cdk-nag's AwsSolutions-L1 is acknowledged."""
_RUNTIME = "python3.13"
_MEMORY_MB = 512
_MODELS = "/var/task/models"


class RuntimeCode:
    """The Lambda asset in one construct, and functions that run it.

    Parameters
    ----------
    scope : Construct
        Where the asset and the functions stand.
    role, log_group : str
        The ARN of the functions' role, and the name of their log group, unless a function has others.
    """

    def __init__(self, scope: Construct, *, role: str, log_group: str) -> None:
        self._scope, self._role, self._log_group = scope, role, log_group
        path, fingerprint = assets.archive()
        code = aws_s3_assets.Asset(
            scope, "Code", path=str(path), asset_hash=fingerprint, asset_hash_type=AssetHashType.CUSTOM
        )
        self._code = aws_lambda.CfnFunction.CodeProperty(s3_bucket=code.s3_bucket_name, s3_key=code.s3_object_key)

    def function(
        self,
        construct_id: str,
        handler: str,
        timeout: int,
        variables: Mapping[str, str],
        *,
        name: str | None = None,
        role: str | None = None,
    ) -> aws_lambda.CfnFunction:
        """Return a function.

        Parameters
        ----------
        construct_id : str
        handler : str
            A module of ``constructs_lib.runtime.handlers``.
        timeout : int
            Seconds.
        variables : Mapping
            The environment, besides where the service models are.
        name, role : str, optional
            The function's name, and the ARN of a role of its own.
        """
        environment = aws_lambda.CfnFunction.EnvironmentProperty(variables={"AWS_DATA_PATH": _MODELS, **variables})
        return aws_lambda.CfnFunction(
            self._scope,
            construct_id,
            function_name=name,
            description=f"gpu capacity: {handler.replace('_', ' ')}",
            runtime=_RUNTIME,
            architectures=["arm64"],
            handler=f"constructs_lib.runtime.handlers.{handler}.handler",
            code=self._code,
            role=role or self._role,
            timeout=timeout,
            memory_size=_MEMORY_MB,
            environment=environment,
            logging_config=aws_lambda.CfnFunction.LoggingConfigProperty(log_group=self._log_group),
        )
