"""200 jobs with the library, or as many as the argument says."""

import json
import sys
import time

import aws_cdk as cdk
from job_request import JOBS, PROPS, TYPES

from constructs_lib import InstancePreference, PreferenceTrainingJob

start = time.perf_counter()
app = cdk.App()
stack = cdk.Stack(app, "Jobs")
for i in range(int(sys.argv[1]) if sys.argv[1:] else JOBS):
    entries = [InstancePreference(kind, instance_count=count) for kind, count in TYPES.items()]
    PreferenceTrainingJob(stack, f"Job{i}", preferences=entries, **PROPS)
app.synth()
print(json.dumps({"seconds": time.perf_counter() - start}))
