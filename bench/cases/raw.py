"""200 hand-written CfnStateMachines that hold the same definitions as the library's, in one loop."""

import json
import time

import aws_cdk as cdk
from aws_cdk import aws_stepfunctions as sfn
from job_request import JOBS, PROPS, TYPES

from constructs_lib import InstancePreference, PreferenceTrainingJob

# The texts come from one job of ours, made beforehand and not timed: the loop renders what we render.
probe = cdk.Stack(cdk.App(), "Probe")
entries = [InstancePreference(kind, instance_count=count) for kind, count in TYPES.items()]
job = PreferenceTrainingJob(probe, "Job", preferences=entries, **PROPS)
resources = probe.resolve(job.definition_string)
parts = resources["Fn::Join"][1] if isinstance(resources, dict) else [resources]
text = "".join(part if isinstance(part, str) else "REFERENCE" for part in parts)
definition = json.loads(text)

start = time.perf_counter()
app = cdk.App()
stack = cdk.Stack(app, "Jobs")
for i in range(JOBS):
    definition["Comment"] = f"Job{i}"
    sfn.CfnStateMachine(
        stack,
        f"Job{i}",
        role_arn="arn:aws:iam::111122223333:role/machine",
        definition_string=json.dumps(definition, separators=(",", ":")),
        state_machine_name=f"Jobs-Job{i}",
        logging_configuration=sfn.CfnStateMachine.LoggingConfigurationProperty(
            level="ALL", include_execution_data=True
        ),
        tracing_configuration=sfn.CfnStateMachine.TracingConfigurationProperty(enabled=True),
    )
app.synth()
print(json.dumps({"seconds": time.perf_counter() - start}))
