"""200 jobs the L2 way: a state machine of three chained SageMakerCreateTrainingJob tasks, roles shared."""

import json
import time
from itertools import pairwise

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from job_request import IMAGE, JOBS, TYPES

start = time.perf_counter()
# Such a stack breaks the 500-resource limit long before 200 jobs; the limit is lifted to time it at all.
app = cdk.App(context={"@aws-cdk/core:stackResourceLimit": 0})
stack = cdk.Stack(app, "Jobs")
role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "bucket")


def channel(name):
    location = tasks.S3Location.from_bucket(bucket, name)
    source = tasks.DataSource(s3_data_source=tasks.S3DataSource(s3_location=location))
    return tasks.Channel(channel_name=name, data_source=source)


for i in range(JOBS):
    chain = [
        tasks.SageMakerCreateTrainingJob(
            stack,
            f"Job{i}Task{n}",
            role=role,
            training_job_name=sfn.JsonPath.string_at("$.name"),
            algorithm_specification=tasks.AlgorithmSpecification(
                training_image=tasks.DockerImage.from_registry(IMAGE), training_input_mode=tasks.InputMode.FILE
            ),
            input_data_config=[channel("train"), channel("validation")],
            output_data_config=tasks.OutputDataConfig(
                s3_output_location=tasks.S3Location.from_bucket(bucket, "models")
            ),
            resource_config=tasks.ResourceConfig(
                instance_type=ec2.InstanceType(kind.removeprefix("ml.")),
                instance_count=count,
                volume_size=cdk.Size.gibibytes(500),
            ),
            integration_pattern=sfn.IntegrationPattern.RUN_JOB,
        )
        for n, (kind, count) in enumerate(TYPES.items())
    ]
    for task, following in pairwise(chain):
        task.add_catch(following, errors=["States.TaskFailed"])
    body = sfn.DefinitionBody.from_chainable(sfn.Chain.start(chain[0]))
    sfn.StateMachine(stack, f"Job{i}", definition_body=body)
app.synth()
print(json.dumps({"seconds": time.perf_counter() - start}))
