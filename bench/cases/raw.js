// 200 hand-written CfnStateMachines in node: the floor that no Python app can reach.
const cdk = require("aws-cdk-lib");
const sfn = require("aws-cdk-lib/aws-stepfunctions");

const types = { "ml.p5.48xlarge": 4, "ml.p4d.24xlarge": 8, "ml.p4de.24xlarge": 8 };
const request = {
  AlgorithmSpecification: { TrainingImage: "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1", TrainingInputMode: "File" },
  InputDataConfig: ["train", "validation"].map((name) => ({
    ChannelName: name,
    DataSource: { S3DataSource: { S3DataType: "S3Prefix", S3Uri: `s3://bucket/${name}`, S3DataDistributionType: "FullyReplicated" } },
  })),
  OutputDataConfig: { S3OutputPath: "s3://bucket/models" },
  CheckpointConfig: { S3Uri: "s3://bucket/checkpoints" },
  ResourceConfig: { InstancePreferences: Object.entries(types).map(([InstanceType, InstanceCount]) => ({ InstanceType, InstanceCount })) },
  StoppingCondition: { MaxRuntimeInSeconds: 216000, MaxPendingTimeInSeconds: 7200 },
};
const payload = { action: "launch", kind: "training", step: 1, "token.$": "$$.Task.Token", "execution.$": "$$.Execution.Id", request };
const definition = {
  StartAt: "Launch",
  States: {
    Launch: {
      Type: "Task", Resource: "arn:aws:states:::lambda:invoke.waitForTaskToken",
      Parameters: { FunctionName: "launcher", Payload: payload }, TimeoutSeconds: 226800,
      Retry: [{ ErrorEquals: ["States.TaskFailed"], IntervalSeconds: 2, BackoffRate: 2, MaxAttempts: 6, MaxDelaySeconds: 60 }],
      Catch: [{ ErrorEquals: ["States.ALL"], Next: "Failed" }], Next: "Ended",
    },
    Ended: { Type: "Choice", Choices: [{ Variable: "$.end", StringEquals: "Completed", Next: "Completed" }], Default: "Failed" },
    Failed: { Type: "Fail", ErrorPath: "$.end", CausePath: "$.cause" },
    Completed: { Type: "Succeed" },
  },
};

const start = process.hrtime.bigint();
const app = new cdk.App({ outdir: "cdk.out" });
const stack = new cdk.Stack(app, "Jobs");
const jobs = Number(process.argv[2] || 200);
for (let i = 0; i < jobs; i++) {
  new sfn.CfnStateMachine(stack, `Job${i}`, {
    roleArn: "arn:aws:iam::111122223333:role/machine",
    definitionString: JSON.stringify({ Comment: `Job${i}`, ...definition }),
    stateMachineName: `Jobs-Job${i}`,
    loggingConfiguration: { level: "ALL", includeExecutionData: true },
    tracingConfiguration: { enabled: true },
  });
}
app.synth();
console.log(JSON.stringify({ seconds: Number(process.hrtime.bigint() - start) / 1e9 }));
