"""Every instance type of every API through the rules on types: the oracle is botocore's enums and moto's dump."""

import gzip
import json
from importlib.resources import files

import botocore.session
import pytest

from constructs_lib.rules import check_request

MODEL = botocore.session.get_session().get_service_model("sagemaker")
DUMP = json.loads(gzip.decompress((files("moto") / "ec2/resources/instance_types.json.gz").read_bytes()))
ENUMS = {
    kind: [t for t in MODEL.shape_for(shape).enum if t.startswith("ml.")]
    for kind, shape in {
        "training-job": "TrainingInstanceType",
        "processing-job": "ProcessingInstanceType",
        "endpoint-config": "ProductionVariantInstanceType",
    }.items()
}
EVERY = sorted({name for names in ENUMS.values() for name in names})
# Types that left EC2's price lists, and one that is not in moto's dump, from AWS's own pages: GB of local storage
# (None: not published), architecture, kind of accelerator.
ELSEWHERE = {
    **{f"ml.p2.{size}": (0, "x86_64", "gpu") for size in ("xlarge", "8xlarge", "16xlarge")},
    **{f"ml.p3.{size}": (0, "x86_64", "gpu") for size in ("2xlarge", "8xlarge", "16xlarge")},
    "ml.dl1.24xlarge": (4000, "x86_64", "habana"),
    "ml.p6e-gb200.36xlarge": (None, "arm64", "gpu"),
}


def hardware(name):
    """Return GB of local storage, architecture and kind of accelerator, as moto's dump has them."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    row = DUMP[name[3:]]
    architectures = row["ProcessorInfo"]["SupportedArchitectures"]
    makers = {gpu["Manufacturer"] for gpu in row.get("GpuInfo", {}).get("Gpus", [])}
    kind = "neuron" if row.get("NeuronInfo") else "gpu" if makers == {"NVIDIA"} else "habana" if makers else None
    storage = row.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0)
    return storage, "x86_64" if "x86_64" in architectures else "arm64", kind


def request(kind, *names, **more):
    """Return a request for one type, or for a list of several."""
    resources = {"InstanceType": names[0], "InstanceCount": 1}
    if len(names) > 1:
        resources = {"InstancePreferences": [{"InstanceType": name, "InstanceCount": 1} for name in names]}
    if kind == "training-job":
        return {"ResourceConfig": resources | more}
    if kind == "processing-job":
        return {"ProcessingResources": {"ClusterConfig": resources | more}}
    return {"ProductionVariants": [{"VariantName": "a", **resources, **more}]}


def said(rule, kind, *names, **more):
    """Return the severities of what one rule says."""
    return [str(f.severity) for f in check_request(kind, request(kind, *names, **more)) if f.rule == rule]


def test_the_oracle_is_complete():
    assert (len(ENUMS["training-job"]), len(ENUMS["processing-job"])) == (225, 207)
    assert all(name in ELSEWHERE or name[3:] in DUMP for name in EVERY)


@pytest.mark.parametrize("kind", ENUMS)
def test_exactly_the_types_of_the_apis_enum_are_accepted(kind):
    expected = {name: [] if name in ENUMS[kind] else ["error"] for name in EVERY}
    assert {name: said("GPU-PL06", kind, name) for name in EVERY} == expected


@pytest.mark.parametrize("kind", ["training-job", "processing-job"])
def test_exactly_the_types_with_local_storage_refuse_a_volume_key(kind):
    verdict = {0: [], None: ["unverified"]}
    expected = {name: verdict.get(hardware(name)[0], ["error"]) for name in ENUMS[kind]}
    got = {name: said("GPU-PL09", kind, name, VolumeKmsKeyId="key", VolumeSizeInGB=1) for name in ENUMS[kind]}
    assert got == expected


def test_a_processing_volume_may_be_as_large_as_the_local_disk_and_no_larger():
    for name in ENUMS["processing-job"]:
        disk = hardware(name)[0]
        assert said("GPU-PL10", "processing-job", name) == ["error"], name
        if disk == 0:
            assert said("GPU-PL10", "processing-job", name, VolumeSizeInGB=16384) == [], name
        else:
            assert said("GPU-PL10", "processing-job", name, VolumeSizeInGB=disk) == [], name
            assert said("GPU-PL10", "processing-job", name, VolumeSizeInGB=disk + 1) == ["error"], name


def test_a_training_type_needs_a_size_exactly_when_it_has_no_local_disk():
    verdict = {0: ["error"], None: ["unverified"]}
    names = ENUMS["training-job"]
    assert {n: said("GPU-PL10", "training-job", n) for n in names} == {
        n: verdict.get(hardware(n)[0], []) for n in names
    }


@pytest.mark.parametrize("kind", ["training-job", "processing-job"])
@pytest.mark.parametrize("partner", ["ml.g5.xlarge", "ml.m5.xlarge"])
def test_exactly_foreign_platforms_are_called_mixed(kind, partner):
    _, architecture, accelerator = hardware(partner)
    expected = {}
    for name in set(ENUMS[kind]) - {partner}:
        _, other, device = hardware(name)
        expected[name] = ["warning"] * (
            (other != architecture) + bool(device and accelerator and device != accelerator)
        )
    assert {name: said("GPU-PL11", kind, name, partner) for name in expected} == expected
