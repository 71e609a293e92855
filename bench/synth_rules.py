"""What checking 1,000 resources adds to a synth: our plugin and aspect, cdk-nag, and an aspect that does nothing."""

from __future__ import annotations

from bench.runner import Variant, beyond, measure, python

TITLE = "processor time that checking 1,000 endpoint configs adds to a synth (built-in validation off)"
BUDGETS = [("plugin", "cdk-nag", 1.5), ("aspect", "no-op aspect", 1.2)]


def run() -> dict[str, list[float]]:
    """Return the processor seconds that each way adds to the synth without any, per round."""
    names = ["none", "plugin", "cdk-nag", "aspect", "no-op aspect"]
    return beyond(measure([Variant(name, python("rules_front", name)) for name in names], "cpu"), "none")
