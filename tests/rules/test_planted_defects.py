"""The fixtures are worth something: a rule with a planted defect disagrees with at least one of its own."""

import types
from pathlib import Path

import pytest

from constructs_lib.rules import Rule, find_rule
from constructs_lib.rules import engine as engine_module
from constructs_lib.rules.registry import rules_for

RULES = Path(engine_module.__file__).parent

# Rule, the code as it is, the code with the defect: comparisons, off by one, a forgotten case, a lost unknown.
DEFECTS = [
    ("GPU-PL01", "not 1 <= len(raw) <= longest", "not 1 <= len(raw) < 10"),
    ("GPU-PL01", "len(raw) == 1", "len(raw) == 2"),
    ("GPU-PL02", "given in seen", "given == (seen or [None])[0] and False"),
    ("GPU-PL03", "any(given) and not all(given)", "not any(given) and not all(given) and shared"),
    ("GPU-PL03", "1 <= count <= (highest or count)", "0 <= count <= (highest or count)"),
    ("GPU-PL04", "wait is not None and not spot", "wait is not None and spot"),
    ("GPU-PL05", "plan.instance_type in types", "plan.instance_type not in types"),
    ("GPU-PL06", "api not in entry.facts.apis", "not entry.facts.apis"),
    ("GPU-PL07", "<= seconds <=", "<= seconds + 1 <="),
    ("GPU-PL08", "True in accelerated", "False in accelerated"),
    ("GPU-PL09", "len(local) == len(sizes)", "len(local) != len(sizes)"),
    ("GPU-PL10", "size > smallest", "size >= smallest * 2"),
    ("GPU-PL11", "len(different) > 1", "len(different) > 2"),
    ("GPU-PL14", "plan.starts > app.now", "plan.starts < app.now"),
    ("GPU-PL21", "True in accelerated", "False in accelerated"),
    ("GPU-PL23", "len(subnets) < wanted", "len(subnets) <= wanted"),
    ("GPU-PL27", "1 <= len(entries) <= most", "1 <= len(entries) <= most + 1"),
    ("GPU-PL27", "value < 1", "value < 0"),
    ("GPU-PL27", "if beside:", "if not beside:"),
    ("GPU-TP05", "use.target not in plan.targets", "use.target in plan.targets"),
    ("GPU-TP06", 'if subject.about.get("Reconciled")', "if False"),
    ("GPU-TP06", "plan.bought_by.stack == subject.stack", "plan.bought_by.stack != subject.stack"),
    ("GPU-TP09", "use.count > total", "use.count >= total * 2"),
    ("GPU-TP10", "> usable", "> plan.ends"),
    ("GPU-TP13", "theirs != ours", "theirs == ours"),
    ("GPU-TP15", "known[0] == known[1]", "known[0] != known[1]"),
    ("GPU-TP16", "plan.ends <= app.now", "plan.ends < app.now"),
    ("GPU-TP16", 'and not use.subject.about.get("Reconciled")', ""),
    ("GPU-CB01", "target is None and stuck", "target is None and not stuck"),
    ("GPU-CB03", "0 < len(missing) < len(spellings)", "0 < len(missing)"),
    ("GPU-EP04", "highest > plan.instance_count", "highest >= plan.instance_count"),
    ("GPU-EP06", "if needed > free:", "if needed >= free:"),
    ("GPU-EP06", "needed > free and", "needed >= free and"),
    ("GPU-EP06", "needed == 1", "needed == 0"),
    ("GPU-EP06", "> 0:\n            continue", "> 1000:\n            continue"),
    ("GPU-EP07", "<= seconds <=", "< seconds <="),
    ("GPU-EP09", "last not in _LAST", "last not in _ACTIONS"),
    ("GPU-EP09", "now == after or", "now != after or"),
    ("GPU-EP09", 'said["Action"], said.get("LastResort")', 'said["Action"],'),
    ("GPU-EP10", "lead >= plan.shortest", "lead > plan.shortest"),
    ("GPU-EP10", "seconds < _RUNS * every:", "seconds <= _RUNS * every:"),
    ("GPU-EP10", "seconds < _RUNS * every + move", "seconds < every + move"),
    ("GPU-EP10", "or 0 for step in _STEPS", "or 0 for step in _STEPS[:2]"),
    ("GPU-EP11", "most > plan.instance_count", "most >= plan.instance_count"),
    ("GPU-EP11", "value < 1", "value < 0"),
    ("GPU-EP11", "not least <= count <= most", "not least <= count + 1 <= most"),
    ("GPU-EP12", 'policy != "Retain"', 'policy == "Delete"'),
    ("GPU-WF01", "if changes or not", "if not changes or not"),
    ("GPU-WF02", "if True in truths or status", "if None in truths or status"),
    ("GPU-WF03", '"Execution.Id" in words', '"Execution.Ids" in words'),
    ("GPU-WF05", "operation not in operations()", "operation in operations()"),
    ("GPU-WF07", "timeout < runtime", "timeout > runtime"),
    ("GPU-WF10", "elif constant", "elif not constant"),
]


def with_defect(rule_id, right, wrong):
    """Return the rule of a module whose text has the defect."""
    name = find_rule(rule_id).check.__module__
    text = (RULES / "/".join(name.split(".")[2:])).with_suffix(".py").read_text()
    assert text.count(right) == 1, f"{rule_id}: {right!r} stands {text.count(right)} times in the rule"
    module = types.ModuleType(name)
    exec(compile(text.replace(right, wrong), name, "exec"), module.__dict__)
    return next(value for value in vars(module).values() if isinstance(value, Rule))


@pytest.mark.parametrize(("rule_id", "right", "wrong"), DEFECTS, ids=[f"{d[0]} {d[2]}" for d in DEFECTS])
def test_a_planted_defect_is_caught_by_the_rules_own_fixtures(rule_id, right, wrong, rule_fixtures, monkeypatch):
    own = [fixture for found in rule_fixtures.values() for fixture in found if fixture.rule == rule_id]
    assert [fixture.complaint() for fixture in own] == [None] * len(own)
    planted = with_defect(rule_id, right, wrong)
    monkeypatch.setattr(
        engine_module, "rules_for", lambda kind: [planted if r.id == rule_id else r for r in rules_for(kind)]
    )
    assert [fixture.name for fixture in own if fixture.complaint()], "no fixture notices"
