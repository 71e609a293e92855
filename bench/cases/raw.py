"""The same template by hand: one job of ours brings the shared parts, a loop of plain L1s writes the other 199."""

import json
import time

import aws_cdk as cdk
from aws_cdk import aws_stepfunctions as sfn
from job_request import JOBS, PROPS, TYPES

from constructs_lib import InstancePreference, PreferenceTrainingJob


def entries():
    return [InstancePreference(kind, instance_count=count) for kind, count in TYPES.items()]


# The text of a definition, and the references in it, are read off a job made beforehand: the loop writes the same.
probe = cdk.Stack(cdk.App(), "Jobs")
resolved = probe.resolve(PreferenceTrainingJob(probe, "Job0", preferences=entries(), **PROPS).definition_string)
parts = resolved["Fn::Join"][1] if isinstance(resolved, dict) else [resolved]

start = time.perf_counter()
app = cdk.App()
stack = cdk.Stack(app, "Jobs")
kit = PreferenceTrainingJob(stack, "Job0", preferences=entries(), **PROPS).kit
role, logs = kit.machine_role.attr_arn, kit.log_group.attr_arn
tokens = {"AWS::Partition": stack.partition, "AWS::AccountId": stack.account, "AWS::Region": stack.region}
execution_role = kit.execution_role.attr_arn


def written(part):
    if isinstance(part, str):
        return part
    name = part.get("Ref")
    return tokens.get(name, execution_role)


text = "".join(written(part) for part in parts)
for i in range(1, JOBS):
    definition = json.loads(text)
    definition["States"]["Launch"]["Parameters"]["Payload"]["job"] = f"Jobs-Job{i}"
    destination = sfn.CfnStateMachine.LogDestinationProperty(
        cloud_watch_logs_log_group=sfn.CfnStateMachine.CloudWatchLogsLogGroupProperty(log_group_arn=logs)
    )
    sfn.CfnStateMachine(
        stack,
        f"Job{i}",
        role_arn=role,
        definition_string=json.dumps(definition, separators=(",", ":")),
        state_machine_name=f"Jobs-Job{i}",
        logging_configuration=sfn.CfnStateMachine.LoggingConfigurationProperty(
            level="ALL", include_execution_data=True, destinations=[destination]
        ),
        tracing_configuration=sfn.CfnStateMachine.TracingConfigurationProperty(enabled=True),
    )
app.synth()
print(json.dumps({"seconds": time.perf_counter() - start}))
