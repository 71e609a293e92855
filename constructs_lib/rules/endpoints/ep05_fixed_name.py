"""A configuration with a fixed name cannot be replaced."""

from constructs_lib.rules.authoring import (
    App,
    Carrier,
    Findings,
    Kind,
    Severity,
    Subject,
    error,
    is_unresolved,
    rule,
    unverified,
    warning,
)
from constructs_lib.rules.endpoints._common import variants_of
from constructs_lib.rules.values import present


@rule(
    "GPU-EP05",
    title="a fixed name on an endpoint configuration",
    kinds=(Kind.ENDPOINT_CONFIG,),
    finds={
        Severity.ERROR: "a literal EndpointConfigName in a template, on a configuration with a reservation",
        Severity.WARNING: "the same without a reservation",
    },
    why="every property but Tags is create-only: each change replaces the configuration, and the new one collides "
    "with the old one's name",
    fix="leave EndpointConfigName out, or build it from a parameter that changes with the content",
    source="cfn-lint: AWS::SageMaker::EndpointConfig createOnlyProperties",
)
def fixed_name(subject: Subject, _app: App) -> Findings:
    """Look for a literal name; one that is built from parameters is the author's business."""
    given, at = present(subject.data, "EndpointConfigName"), "EndpointConfigName"
    if subject.carrier is not Carrier.TEMPLATE or given is False:
        return
    name = subject.data["EndpointConfigName"]
    if given is None:
        yield unverified("a condition decides whether EndpointConfigName is fixed", at)
    elif not is_unresolved(name):
        reserved = any(variant.reserved for variant in variants_of(subject))
        yield (error if reserved else warning)(f"EndpointConfigName is {name!r}, and every change needs a new name", at)
