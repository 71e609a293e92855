import pytest

from constructs_lib.sandbox.errors import SandboxError
from constructs_lib.sandbox.sagemaker import Capacity
from constructs_lib.sandbox.sagemaker.seeds import UNLIMITED, ExtensionSeed, JobTimes, Moment, Payment

FILE = """\
types:
  ml.p5.48xlarge: 0
  ml.p4d.24xlarge: [{at: 0m, free: 0}, {at: 1h30m, free: 8}]
  ml.p5e.48xlarge:
    us-east-1a: 4
    us-east-1b: [{at: 2027-01-15T09:00:00+01:00, free: unlimited}]
default_free: 2
quotas:
  ml.g5.48xlarge for training job usage: 4
plans:
  - name: nightly
    instance_type: ml.p5.48xlarge
    count: 4
    start: -1h
    end: 1d
    upfront_fee: "60000.00"
    tags: {team: vision}
  - {name: split, instance_type: ml.p4d.24xlarge, count: 8, target: endpoint, status: Failed,
     segments: [{start: 1h, end: 2h}, {start: 1d, end: 2d, count: 6, zone: us-east-1b}]}
offerings:
  - {instance_type: ml.p5.48xlarge, count: [4, 8], days: [1, 3], price: "40.00", zone: us-east-1c}
  - instance_type: ml.p5e.48xlarge
    count: 2
    fee: [{at: 0m, amount: "9000.00"}, {at: 2h, amount: "9900.00"}]
    segments: [{start: 3d, end: 5d}, {start: 7d, end: 8d, zone: us-east-1b}]
    late: 20m
    target: [endpoint, training-job]
    on_sale: {from: 1h, until: 2d}
    payment: {takes: 30m, fail: Your card was declined.}
    extension: {days: 7, price: "41.00", payment: {takes: 1h}}
job:
  runtime: 2h
  overrides:
    "broken-*": {fail: "AlgorithmError: out of memory", download: 0}
"""


@pytest.fixture
def capacity(tmp_path):
    path = tmp_path / "capacity.yaml"
    path.write_text(FILE)
    return Capacity.load(path)


def test_a_file_tells_levels_by_type_and_zone(capacity):
    assert capacity.types["ml.p5.48xlarge"][None][0].free == 0
    second = capacity.types["ml.p4d.24xlarge"][None][1]
    assert (second.at.after(1000), second.free) == (1000 + 5400, 8)
    (level,) = capacity.types["ml.p5e.48xlarge"]["us-east-1b"]
    assert (level.at, level.free) == (Moment(1_800_000_000, absolute=True), UNLIMITED)
    assert capacity.default_free == 2


def test_a_file_tells_quotas_and_plans(capacity):
    assert capacity.quotas == {"ml.g5.48xlarge for training job usage": 4}
    nightly, split = capacity.plans
    assert (nightly.target, nightly.upfront_fee, nightly.currency) == ("training-job", "60000.00", "USD")
    assert nightly.tags == (("team", "vision"),)
    assert [(part.start.seconds, part.count, part.zone) for part in nightly.segments] == [(-3600, 4, None)]
    assert [(part.count, part.zone) for part in split.segments] == [(8, None), (6, "us-east-1b")]
    assert (split.target, split.status) == ("endpoint", "Failed")


def test_a_file_tells_what_is_on_sale(capacity):
    rule, fixed = capacity.offerings
    assert (rule.counts, rule.days, rule.segments, rule.zone) == ((4, 8), (1, 3), (), "us-east-1c")
    assert [(price.amount, price.per_hour) for price in rule.prices] == [("40.00", True)]
    assert [(price.at.seconds, price.amount, price.per_hour) for price in fixed.prices] == [
        (0, "9000.00", False),
        (7200, "9900.00", False),
    ]
    assert [(part.count, part.zone, part.late) for part in fixed.segments] == [(2, None, 1200), (2, "us-east-1b", 1200)]
    assert (fixed.targets, fixed.sold_from, fixed.sold_until) == (
        ("endpoint", "training-job"),
        Moment(3600),
        Moment(172800),
    )
    assert fixed.payment == Payment(1800, "Your card was declined.")
    assert fixed.extension == ExtensionSeed((7,), "41.00", Payment(3600))


def test_the_first_pattern_that_matches_a_jobs_name_overrides_what_it_names(capacity):
    assert capacity.job_times("good") == JobTimes(runtime=7200)
    broken = capacity.job_times("broken-1")
    assert (broken.runtime, broken.download, broken.fail) == (7200, 0, "AlgorithmError: out of memory")


def test_a_person_can_read_what_is_free_and_every_default_is_stated(capacity):
    assert list(capacity.lines()) == [
        "ml.p5.48xlarge: 0 free",
        "ml.p4d.24xlarge: 0 free, 0 after 0m, 8 after 90m",
        "ml.p5e.48xlarge in us-east-1a: 4 free",
        "ml.p5e.48xlarge in us-east-1b: 0 free, unlimited at 2027-01-15T08:00:00Z",
        "other types: 2",
        "quota ml.g5.48xlarge for training job usage: 4",
        "other quotas: unlimited",
        "plan nightly: 4 x ml.p5.48xlarge for training-job",
        "plan split: 8+6 x ml.p4d.24xlarge for endpoint",
        "offering: 4 or 8 x ml.p5.48xlarge, 1 or 3 days, 40.00 USD an instance-hour",
        "offering: 2 x ml.p5e.48xlarge, 2 segments, 9000.00 USD, 9900.00 after 120m",
    ]
    assert list(Capacity().lines()) == ["other types: unlimited", "quotas: unlimited"]


def test_an_empty_file_leaves_everything_unlimited():
    assert Capacity.parse("") == Capacity()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            "types:\n  ml.p5.48xlage: 1",
            2,
            "types.ml.p5.48xlage: no such instance type; give one such as ml.p5.48xlarge",
        ),
        ("types:\n  ml.p5.48xlage: 1", 2, "did you mean ml.p5.48xlarge?"),
        (
            "types:\n  ml.p5.48xlarge: -1",
            2,
            "types.ml.p5.48xlarge: '-1' is not allowed; give a whole number of 0 or more",
        ),
        ("types:\n  ml.p5.48xlarge: lots", 2, "'lots' is not allowed; give a whole number of 0 or more, or unlimited"),
        ("types: 8", 1, "types: '8' is not allowed; give a mapping of instance types, such as ml.p5.48xlarge: 8"),
        ("types:\n  ml.p5.48xlarge: []", 2, "an empty value is not allowed; give a number, unlimited, or a list of"),
        ("types:\n  ml.p5.48xlarge: {}", 2, "give at least one zone, such as us-east-1a: 8"),
        ("types:\n  ml.p5.48xlarge: {A: 1}", 2, "'A' is not allowed; give an availability zone such as us-east-1a"),
        (
            "types:\n  ml.p5.48xlarge:\n  - {at: 25, free: 1}",
            3,
            "types.ml.p5.48xlarge[0].at: '25' is not allowed; give a time after the start such as 25m",
        ),
        ("types:\n  ml.p5.48xlarge:\n  - {at: 25m}", 3, "types.ml.p5.48xlarge[0]: the key free is missing"),
        (
            "types:\n  ml.p5.48xlarge:\n  - {at: 2027-01-01T00:00, free: 1}",
            3,
            "ISO 8601 with a zone such as 2026-12-01T11:30Z; this one has no zone",
        ),
        ("types:\n  ml.p5.48xlarge: 1\n  ml.p5.48xlarge: 2", 3, "the key appears twice; keep one"),
        ("default_free: some", 1, "default_free: 'some' is not allowed"),
        (
            "quota: {}",
            1,
            "quota: unknown key; allowed are types, default_free, spot, quotas, ",
        ),
        ("quotas: {ml.p5.48xlarge for hosting: 1}", 1, "no quota of the sandbox; give '<type> for <training job usage"),
        ("quotas:\n  ml.p5.48xlarge for training job usage: few", 2, "'few' is not allowed; give a whole number of 0"),
        ("plans: {}", 1, "plans: an empty value is not allowed; give a list of plans"),
        ("plans:\n- {name: n}", 2, "plans[0]: the key instance_type is missing"),
        ("plans:\n- {name: n}", 2, "plans[0]: give start and end, or segments: [{start:, end:}]"),
        ("plans:\n- {name: a_b}", 2, "plans[0].name: 'a_b' is not allowed; give a plan name: up to 64 letters"),
        (
            "plans:\n- {instance_type: ml.g5.48xlarge}",
            2,
            "plans[0].instance_type: 'ml.g5.48xlarge' is not allowed; give",
        ),
        ("plans:\n- {start: 2h, end: 1h}", 2, "plans[0]: start and end are not in order of time"),
        ("plans:\n- {segments: [{start: 1h, end: 3h}, {start: 2h, end: 4h}]}", 2, "are not in order of time"),
        ("plans:\n- {start: 1h, segments: [{start: 1h, end: 3h}]}", 2, "give either start and end, or segments"),
        ("plans:\n- {target: training}", 2, "give one of training-job, hyperpod-cluster, endpoint, studio-apps"),
        ("plans:\n- {name: n}\n- {name: n}", 2, "plans: the plan 'n' appears twice; names are unique"),
        ("plans:\n- {upfront_fee: free}", 2, "'free' is not allowed; give an amount such as 60000.00"),
        ("offerings:\n- {count: 1}", 2, "offerings[0]: the key instance_type is missing"),
        ("offerings:\n- {count: 1}", 2, "give start and end, or segments: [{start:, end:}], or days: 3"),
        ("offerings:\n- {count: 1}", 2, "give either fee (in all) or price (per instance-hour)"),
        ("offerings:\n- {days: 1, start: 1h}", 2, "give either days, or start and end, or segments"),
        ("offerings:\n- {days: 1, fee: '1', price: '2'}", 2, "give either fee (in all) or price"),
        ("offerings:\n- {count: [1, 2], days: 1, fee: '1'}", 2, "a fee is for one count and one duration"),
        ("offerings:\n- {count: few}", 2, "offerings[0].count: 'few' is not allowed; give a whole number of 1 or more"),
        ("offerings:\n- {price: cheap}", 2, "'cheap' is not allowed; give an amount such as 60000.00"),
        ("offerings:\n- {price: [{at: 1h}]}", 2, "offerings[0].price[0]: the key amount is missing"),
        ("offerings:\n- {extension: never}", 2, "offerings[0].extension: 'never' is not allowed"),
        (
            "offerings:\n- {target: [jobs]}",
            2,
            "offerings[0].target[0]: 'jobs' is not allowed; give one of",
        ),
        ("offerings: soon", 1, "offerings: 'soon' is not allowed; give a list of offerings"),
        (
            "quotas: {reserved-capacity-ml-p9-48xlarge: 1}",
            1,
            "or training-plan-total_count, or one such as",
        ),
        ("job: {runtime: 30}", 1, "job.runtime: '30' is not allowed; give a number with its unit d, h, m or s"),
        ("job:\n  overrides:\n    a*: {runtim: 1m}", 3, "job.overrides.a*.runtim: unknown key; allowed are start"),
        ("job: {fail: ''}", 1, "job.fail: '' is not allowed; give a text"),
        ("- 1", 1, "file: a list is not allowed; give a mapping with the keys types"),
        ("a: [", 1, "not YAML"),
    ],
)
def test_a_mistake_is_told_with_file_line_key_and_what_is_allowed(text, line, words):
    with pytest.raises(SandboxError) as refused:
        Capacity.parse(text, "capacity.yaml")
    assert any(row.startswith(f"capacity.yaml:{line}: ") and words in row for row in str(refused.value).splitlines())


def test_one_run_shows_all_mistakes():
    with pytest.raises(SandboxError) as refused:
        Capacity.parse("types: 1\nquotas: 2\nplans: 3\njob: 4\nmore: 5")
    assert len(str(refused.value).splitlines()) == 5


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SandboxError, match=r"nothing\.yaml: can not read the capacity file"):
        Capacity.load(tmp_path / "nothing.yaml")
