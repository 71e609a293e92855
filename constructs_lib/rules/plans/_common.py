"""What the rules on plans share: names of what uses one."""

from __future__ import annotations

from constructs_lib.rules.subjects import Kind

__all__ = ["PURCHASES", "USERS"]

USERS = {"training-job": "a training job", "endpoint": "an endpoint", "hyperpod-cluster": "a HyperPod cluster"}
PURCHASES = (Kind.TRAINING_PLAN, Kind.TRAINING_PLAN_SEARCH)
