"""The reference app: settings -> stacks -> checks -> synth."""

import aws_cdk as cdk

from constructs_lib import CapacityRulesPlugin, Settings
from stacks.research import ResearchStack

app = cdk.App()
ResearchStack(app, "Research", settings=Settings.of(app))
cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
app.synth()
