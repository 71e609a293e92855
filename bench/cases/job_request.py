"""The reference job of the benches: 3 preferences, 2 channels, a checkpoint."""

from __future__ import annotations

import datetime as dt

IMAGE = "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1"
TYPES = {"ml.p5.48xlarge": 4, "ml.p4d.24xlarge": 8, "ml.p4de.24xlarge": 8}
JOBS = 200
PROPS = {
    "image": IMAGE,
    "inputs": {"train": "s3://bucket/train", "validation": "s3://bucket/validation"},
    "output": "s3://bucket/models",
    "checkpoint": "s3://bucket/checkpoints",
    "max_runtime": dt.timedelta(hours=60),
    "max_pending": dt.timedelta(hours=2),
}
