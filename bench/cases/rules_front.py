"""Synth of 1,000 endpoint configs with one way of checking them: none, plugin, aspect, no-op aspect or cdk-nag."""

# ruff: noqa: PLC0415 - each front imports what it needs, so that no other pays for it
import json
import sys
import time

import aws_cdk as cdk
import jsii
from aws_cdk import aws_sagemaker as sagemaker

RESOURCES = 1000


@jsii.implements(cdk.IAspect)
class NoOp:
    def visit(self, node):
        pass


def front(name, app):
    from constructs_lib.checks import CapacityRules, CapacityRulesPlugin

    if name == "plugin":
        cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
    elif name == "aspect":
        cdk.Aspects.of(app).add(CapacityRules())
    elif name == "no-op aspect":
        cdk.Aspects.of(app).add(NoOp())
    elif name == "cdk-nag":
        import cdk_nag

        cdk.Validations.of(app).add_plugins(cdk_nag.AwsSolutionsChecks(app))


app = cdk.App()
# 1,000 resources are over CDK's limit of 500 a stack; the yardstick is one tree, not one stack.
for s in range(RESOURCES // 250):
    stack = cdk.Stack(app, f"S{s}")
    for i in range(250):
        variant = sagemaker.CfnEndpointConfig.ProductionVariantProperty(
            model_name="m", variant_name="v", initial_instance_count=1, instance_type="ml.m5.xlarge"
        )
        # A key keeps cdk-nag content, a type without local disks keeps us so: no side times the printing of reports.
        sagemaker.CfnEndpointConfig(stack, f"C{i}", production_variants=[variant], kms_key_id="key")
front(sys.argv[1], app)
start = time.perf_counter()
app.synth()
print(json.dumps({"seconds": time.perf_counter() - start}))
