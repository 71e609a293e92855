"""Local storage has its own encryption and its own size."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, rule, unverified, warning
from constructs_lib.rules.endpoints._common import Variant, variants_of


@rule(
    "GPU-EP08",
    title="a key or a volume size for local storage",
    kinds=(Kind.ENDPOINT_CONFIG,),
    finds={Severity.WARNING: "KmsKeyId, or VolumeSizeInGB, with a variant whose type has local storage"},
    why="the key does not encrypt local storage, and its size is the instance's own: both promise what is not there",
    fix="leave the member out, or take types with EBS storage only",
    source="botocore: CreateEndpointConfigInput.KmsKeyId, ProductionVariant.VolumeSizeInGB; moto: instance storage",
)
def storage_members(subject: Subject, _app: App) -> Findings:
    """Look for local storage behind each member."""
    keyed = subject.data.get("KmsKeyId") is not None
    for variant in variants_of(subject):
        for name, at, given in (
            ("KmsKeyId", "KmsKeyId", keyed),
            ("VolumeSizeInGB", f"{variant.at}.VolumeSizeInGB", variant.data.get("VolumeSizeInGB") is not None),
        ):
            if given:
                yield from _judge(variant, name, at)


def _judge(variant: Variant, name: str, at: str) -> Findings:
    sizes = variant.local_storage()
    local = [str(kind) for kind, size in zip(variant.types, sizes, strict=True) if size]
    if local:
        effect = "does not encrypt" if name == "KmsKeyId" else "does not change"
        yield warning(f"{name} {effect} the local storage of {', '.join(local)}", at)
    elif None in sizes:
        yield unverified(f"whether {name} meets local storage is not known here", at)
