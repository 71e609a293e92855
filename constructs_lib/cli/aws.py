"""What commands that call AWS share: whose account and region, clients, and AWS's errors in words."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from constructs_lib.cli.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

__all__ = ["add_options", "client", "in_words", "region"]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where; AWS's usual environment variables and files hold for what is left out."""
    parser.add_argument("--region", metavar="REGION", help="AWS region (default: AWS_REGION, or the profile's)")
    parser.add_argument("--profile", metavar="NAME", help="profile of the shared AWS configuration")
    parser.add_argument(
        "--endpoint-url",
        metavar="URL",
        help="where to call (default: AWS_ENDPOINT_URL, which `gpucap sandbox start` prints, else AWS)",
    )


def client(args: argparse.Namespace, service: str, region: str | None = None) -> Any:
    """Return a client with the caller's own credentials; it signs every request, so IAM decides.

    ``region`` replaces the caller's for a service that has few.
    """
    from botocore.config import Config  # noqa: PLC0415 - only commands that call AWS pay for it

    session = _session(args)
    config = Config(retries={"total_max_attempts": 3, "mode": "standard"}, connect_timeout=5, read_timeout=30)
    where = region or _region(args, session)
    return session.create_client(service, region_name=where, endpoint_url=args.endpoint_url, config=config)


def region(args: argparse.Namespace) -> str | None:
    """Return the caller's region, as far as it is set anywhere."""
    with in_words():
        return _region(args, _session(args))


def _session(args: argparse.Namespace) -> Any:
    from botocore.session import Session  # noqa: PLC0415

    return Session(profile=args.profile)


def _region(args: argparse.Namespace, session: Any) -> str | None:
    # botocore alone reads AWS_DEFAULT_REGION only.
    return args.region or os.environ.get("AWS_REGION") or session.get_config_variable("region")


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Turn what AWS or the SDK refuses into words for the person at the terminal."""
    from botocore import exceptions as sdk  # noqa: PLC0415

    try:
        yield
    except (sdk.NoCredentialsError, sdk.PartialCredentialsError) as error:
        raise UsageError(
            f"no AWS credentials were found ({error}); log in, name a --profile, or run `gpucap sandbox start` and "
            "export what it prints"
        ) from error
    except sdk.NoRegionError as error:
        raise UsageError("no region is set; give --region or set AWS_REGION") from error
    except sdk.ProfileNotFound as error:
        raise UsageError(f"{error}; profiles stand in ~/.aws/config") from error
    except (sdk.ConnectionError, sdk.HTTPClientError) as error:
        raise UsageError(f"nobody answers: {error}; check AWS_ENDPOINT_URL, --endpoint-url and the network") from error
    except sdk.ClientError as error:
        raise UsageError(f"AWS refused: {error}") from error
    except sdk.BotoCoreError as error:
        raise UsageError(str(error)) from error
