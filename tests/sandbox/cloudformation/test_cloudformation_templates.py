"""What CloudFormation refuses before it makes anything, and what it makes of parameters and conditions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox.cloudformation.templates import read
from constructs_lib.sandbox.errors import ServiceError

pytestmark = pytest.mark.slow

QUEUE = {"Type": "AWS::SQS::Queue"}
P = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "v"}}


def parameter(value: Any, **more: Any) -> dict[str, Any]:
    return {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": value}, **more}


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ({"Resources": {}}, "At least one Resources member must be defined"),
        ({"Resources": {"Q": QUEUE}, "Resource": {}}, r"Invalid template property or properties \[Resource\]"),
        ({"Resources": {"Q": QUEUE}, "Transform": "AWS::SAM"}, "runs no transforms: expand 'AWS::SAM'"),
        ({"Resources": []}, r"\[/Resources\] is not an object"),
        ({"Resources": {"Q": QUEUE}, "Outputs": None}, r"\[/Outputs\] is not an object"),
        ({"Resources": {"Q-1": QUEUE}}, "Resource name Q-1 is non alphanumeric"),
        ({"Resources": {"Q": {}}}, "Every Resources object must contain a Type"),
        ({"Resources": {"Q": {**QUEUE, "Propertys": {}}}}, "Invalid template resource property 'Propertys'"),
        ({"Resources": {"Q": {**QUEUE, "Properties": []}}}, r"\[/Resources/Q/Properties\] is not an object"),
        (
            {"Resources": {"Q": {**QUEUE, "DeletionPolicy": "Snapshot"}}},
            "DeletionPolicy 'Snapshot'.*use Delete, Retain",
        ),
        ({"Resources": {"Q": {**QUEUE, "UpdateReplacePolicy": "RetainExceptOnCreate"}}}, "UpdateReplacePolicy"),
        ({"Resources": {"Q": {**QUEUE, "CreationPolicy": {}}}}, "does not support CreationPolicy"),
        ({"Resources": {"Q": QUEUE}, "Outputs": {"O": {}}}, "Output O must have a Value"),
        (
            {"Resources": {"Q": parameter({"Ref": "Nobody"})}},
            r"Unresolved resource dependencies \[Nobody\] in the Resources block",
        ),
        (
            {"Resources": {"Q": {**QUEUE, "DependsOn": ["Nobody"]}}},
            r"Unresolved resource dependencies \[Nobody\] in the Resources block",
        ),
        (
            {"Resources": {"Q": QUEUE}, "Outputs": {"O": {"Value": {"Fn::Sub": "${Nobody}"}}}},
            r"Unresolved resource dependencies \[Nobody\] in the Outputs block",
        ),
        ({"Resources": {"Q": parameter({"Fn::GetAtt": "Nobody.Arn"})}}, "references undefined resource Nobody"),
        ({"Resources": {"Q": parameter({"Fn::Sub": "${Nobody.Arn}"})}}, "references undefined resource Nobody"),
        (
            {"Resources": {"Q": QUEUE, "P": parameter({"Fn::GetAtt": "Q.Colour"})}},
            "resource Q does not support attribute type Colour in Fn::GetAtt",
        ),
        (
            {"Resources": {"A": parameter({"Ref": "B"}), "B": parameter({"Ref": "C"}), "C": {**P, "DependsOn": "A"}}},
            r"Circular dependency between resources: \[A, B, C\]",
        ),
        ({"Resources": {"A": parameter({"Ref": "A"})}}, r"Circular dependency between resources: \[A\]"),
        ({"Resources": {"Q": {**QUEUE, "Condition": "Nobody"}}}, "Unresolved condition dependency Nobody"),
        ({"Resources": {"Q": parameter({"Fn::If": ["Nobody", 1, 2]})}}, "Unresolved condition dependency Nobody"),
        (
            {"Resources": {"Q": QUEUE}, "Conditions": {"C": {"Fn::Equals": [{"Ref": "Q"}, 1]}}},
            r"Unresolved dependencies \[Q\]. Cannot reference resources in the Conditions block",
        ),
        (
            {"Resources": {"Q": QUEUE}, "Conditions": {"A": {"Fn::Not": [{"Condition": "A"}]}}},
            "Circular dependency between conditions",
        ),
        (
            {
                "Resources": {"Q": {**QUEUE, "Condition": "Off"}, "P": parameter({"Ref": "Q"})},
                "Conditions": {"Off": {"Fn::Equals": [1, 2]}},
            },
            r"Unresolved resource dependencies \[Q\] in the Resources block",
        ),
        ({"Resources": {"Q": parameter({"Fn::Nonsense": 1})}}, "unsupported function: Fn::Nonsense"),
    ],
)
def test_a_wrong_template_is_refused_before_anything_is_made(cloud: Any, template: Any, complaint: str) -> None:
    with pytest.raises(ClientError, match=complaint) as caught:
        cloud.cfn.create_stack(StackName="wrong", TemplateBody=json.dumps(template))
    assert caught.value.response["Error"]["Code"] == "ValidationError"
    assert not [call for call in cloud.calls if call[0] in ("sqs", "ssm")]
    with pytest.raises(ClientError, match="does not exist"):
        cloud.describe("wrong")


def test_text_that_is_no_template_is_refused() -> None:
    for body in ("{", "a: [", "- a", "text"):
        with pytest.raises(ServiceError, match="Template format error"):
            read(body)


def test_yaml_short_forms_and_dates_are_read_as_cloudformation_reads_them() -> None:
    body = """
AWSTemplateFormatVersion: 2010-09-09
Resources:
  A:
    Type: X
    Properties:
      Version: 2012-10-17
      Ref: !Ref B
      Att: !GetAtt B.Arn
      Sub: !Sub ['${x}', {x: !Ref C}]
      If: !If [Cond, !Join [',', [a, b]], !Ref AWS::NoValue]
      Map: !FindInMap [M, a, b]
      Yes: true
Conditions:
  Cond: !And [!Condition Other, !Equals [a, b]]
"""
    data = read(body).data
    assert data["AWSTemplateFormatVersion"] == "2010-09-09"
    assert data["Resources"]["A"]["Properties"] == {
        "Version": "2012-10-17",
        "Ref": {"Ref": "B"},
        "Att": {"Fn::GetAtt": "B.Arn"},
        "Sub": {"Fn::Sub": ["${x}", {"x": {"Ref": "C"}}]},
        "If": {"Fn::If": ["Cond", {"Fn::Join": [",", ["a", "b"]]}, {"Ref": "AWS::NoValue"}]},
        "Map": {"Fn::FindInMap": ["M", "a", "b"]},
        True: True,
    }
    assert data["Conditions"]["Cond"] == {"Fn::And": [{"Condition": "Other"}, {"Fn::Equals": ["a", "b"]}]}


def test_parameters_conditions_mappings_and_pseudo_parameters_reach_resources(cloud: Any) -> None:
    template = {
        "Parameters": {
            "Stage": {"Type": "String", "Default": "dev"},
            "Size": {"Type": "Number", "Default": 3},
            "Names": {"Type": "CommaDelimitedList", "Default": "a, b"},
        },
        "Mappings": {"Sizes": {"dev": {"word": "small"}, "prod": {"word": "large"}}},
        "Conditions": {"IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]}},
        "Resources": {
            "P": parameter(
                {
                    "Fn::Join": [
                        " ",
                        [
                            {"Ref": "Stage"},
                            {"Ref": "Size"},
                            {"Fn::Join": ["+", {"Ref": "Names"}]},
                            {"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, "word"]},
                            {"Fn::If": ["IsProd", "yes", "no"]},
                            {"Ref": "AWS::Region"},
                            {"Ref": "AWS::AccountId"},
                            {"Ref": "AWS::StackName"},
                            {"Ref": "AWS::Partition"},
                            {"Ref": "AWS::URLSuffix"},
                        ],
                    ]
                }
            ),
            "OnlyProd": {**QUEUE, "Condition": "IsProd"},
        },
        "Outputs": {
            "Url": {"Value": {"Ref": "OnlyProd"}, "Condition": "IsProd"},
            "P": {"Value": {"Ref": "P"}},
        },
    }

    def value() -> str:
        return cloud.client("ssm").get_parameter(Name=cloud.physical("values")["P"])["Parameter"]["Value"]

    cloud.create("values", template)
    assert value() == "dev 3 a+b small no us-east-1 123456789012 values aws amazonaws.com"
    assert list(cloud.outputs("values")) == ["P"]
    cloud.update("values", template, Parameters=[{"ParameterKey": "Stage", "ParameterValue": "prod"}])
    assert value() == "prod 3 a+b large yes us-east-1 123456789012 values aws amazonaws.com"
    assert sorted(cloud.physical("values")) == ["OnlyProd", "P"]
    cloud.update(
        "values",
        template,
        Parameters=[
            {"ParameterKey": "Stage", "UsePreviousValue": True},
            {"ParameterKey": "Size", "ParameterValue": "4"},
        ],
    )
    assert value().startswith("prod 4 ")
    cloud.update("values", template)
    assert list(cloud.physical("values")) == ["P"], "a value that is not given again falls back to its default"
    cloud.delete("values")


@pytest.mark.parametrize(
    ("declared", "given", "complaint"),
    [
        ({"Type": "String"}, None, r"Parameters: \[A\] must have values"),
        ({"Type": "String", "AllowedValues": ["x"]}, "y", "Parameter 'A' must be one of AllowedValues"),
        ({"Type": "String", "AllowedPattern": "[a-z]+"}, "Y", "failed to satisfy constraint: .*must match pattern"),
        ({"Type": "String", "MinLength": 2}, "y", "length of at least 2"),
        ({"Type": "String", "MaxLength": "2"}, "yyy", "length of at most 2"),
        ({"Type": "String", "MaxLength": 2, "ConstraintDescription": "be short"}, "yyy", "constraint: be short"),
        ({"Type": "Number"}, "many", "Parameter 'A' must be a number"),
        ({"Type": "Number", "MinValue": 2}, "1", "must be at least 2"),
        ({"Type": "Number", "MaxValue": 2}, "3", "must be at most 2"),
        ({"Type": "List<Number>"}, "1,x", "must be a number"),
        ({"Type": "AWS::SSM::Parameter::Value<String>"}, "/no/such", r"Unable to fetch parameters \[/no/such\]"),
        ({}, "x", "must contain a Type member"),
    ],
)
def test_a_parameter_that_is_not_allowed_is_refused(cloud: Any, declared: Any, given: Any, complaint: str) -> None:
    template = json.dumps({"Parameters": {"A": declared}, "Resources": {"Q": QUEUE}})
    values = [] if given is None else [{"ParameterKey": "A", "ParameterValue": given}]
    with pytest.raises(ClientError, match=complaint):
        cloud.cfn.create_stack(StackName="param", TemplateBody=template, Parameters=values)


def test_an_unknown_parameter_and_a_previous_value_of_a_new_one_are_refused(cloud: Any) -> None:
    template = json.dumps({"Parameters": {"A": {"Type": "String"}}, "Resources": {"Q": QUEUE}})
    with pytest.raises(ClientError, match=r"Parameters: \[B\] do not exist in the template"):
        cloud.cfn.create_stack(
            StackName="param", TemplateBody=template, Parameters=[{"ParameterKey": "B", "ParameterValue": "x"}]
        )
    with pytest.raises(ClientError, match="Cannot specify usePreviousValue"):
        cloud.cfn.create_stack(
            StackName="param", TemplateBody=template, Parameters=[{"ParameterKey": "A", "UsePreviousValue": True}]
        )


def test_a_value_of_systems_manager_is_looked_up_at_every_operation(cloud: Any) -> None:
    ssm = cloud.client("ssm")
    ssm.put_parameter(Name="/stored", Value="one", Type="String")
    template = {
        "Parameters": {"Stored": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/stored"}},
        "Resources": {"P": parameter({"Fn::Sub": "${Stored} {{resolve:ssm:/stored}}"})},
    }
    cloud.create("ssm", template)
    (shown,) = cloud.describe("ssm")["Parameters"]
    assert (shown["ParameterValue"], shown["ResolvedValue"]) == ("/stored", "one")
    name = cloud.physical("ssm")["P"]
    assert ssm.get_parameter(Name=name)["Parameter"]["Value"] == "one one"
    ssm.put_parameter(Name="/stored", Value="two", Type="String", Overwrite=True)
    cloud.update("ssm", template, Parameters=[{"ParameterKey": "Stored", "UsePreviousValue": True}])
    assert ssm.get_parameter(Name=name)["Parameter"]["Value"] == "two two"
    cloud.delete("ssm")
    assert cloud.create("other", {"Resources": {"P": parameter("{{resolve:secretsmanager:x}}")}}) == "ROLLBACK_COMPLETE"
    assert "resolves dynamic references to ssm only" in cloud.why("other", "P")


def test_the_cdks_bootstrap_rule_is_obeyed(cloud: Any) -> None:
    cloud.client("ssm").put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="5", Type="String")
    template = {
        "Parameters": {
            "BootstrapVersion": {
                "Type": "AWS::SSM::Parameter::Value<String>",
                "Default": "/cdk-bootstrap/hnb659fds/version",
            }
        },
        "Rules": {
            "CheckBootstrapVersion": {
                "Assertions": [
                    {
                        "Assert": {"Fn::Not": [{"Fn::Contains": [["1", "2", "5"], {"Ref": "BootstrapVersion"}]}]},
                        "AssertDescription": "CDK bootstrap stack version 6 required.",
                    }
                ]
            }
        },
        "Resources": {"Q": QUEUE},
    }
    with pytest.raises(ClientError, match="CheckBootstrapVersion: CDK bootstrap stack version 6 required"):
        cloud.create("rule", template)
    cloud.client("ssm").put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="6", Type="String", Overwrite=True)
    assert cloud.create("rule", template) == "CREATE_COMPLETE"
    cloud.delete("rule")


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ({"Assertions": [{"Assert": {"Fn::EachMemberIn": [["a"], ["a", "b"]]}}]}, True),
        ({"Assertions": [{"Assert": {"Fn::EachMemberEquals": [["a", "b"], "a"]}}]}, False),
        ({"Assertions": [{"Assert": {"Fn::Or": [{"Fn::Equals": ["a", "b"]}, {"Fn::Contains": [["a"], "a"]}]}}]}, True),
        ({"Assertions": [{"Assert": {"Fn::And": [{"Fn::Equals": ["a", "a"]}, {"Fn::Equals": ["a", "b"]}]}}]}, False),
        ({"RuleCondition": {"Fn::Equals": ["a", "b"]}, "Assertions": [{"Assert": {"Fn::Equals": ["a", "b"]}}]}, True),
    ],
)
def test_a_rule_decides(cloud: Any, rule: Any, holds: bool) -> None:
    template = {"Rules": {"R": rule}, "Resources": {"Q": QUEUE}}
    if holds:
        assert cloud.create("ruled", template) == "CREATE_COMPLETE"
        cloud.delete("ruled")
    else:
        with pytest.raises(ClientError, match="rule R: an assertion does not hold"):
            cloud.create("ruled", template)


def test_iam_needs_to_be_acknowledged(cloud: Any) -> None:
    role = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": []}}}
    body = json.dumps({"Resources": {"R": role}})
    with pytest.raises(ClientError, match=r"Requires capabilities : \[CAPABILITY_IAM\]") as caught:
        cloud.cfn.create_stack(StackName="iam", TemplateBody=body)
    assert caught.value.response["Error"]["Code"] == "InsufficientCapabilitiesException"
    named = json.dumps({"Resources": {"R": {**role, "Properties": {**role["Properties"], "RoleName": "mine"}}}})
    with pytest.raises(ClientError, match=r"Requires capabilities : \[CAPABILITY_NAMED_IAM\]"):
        cloud.cfn.create_stack(StackName="iam", TemplateBody=named, Capabilities=["CAPABILITY_IAM"])


def test_a_template_can_lie_in_s3(cloud: Any) -> None:
    cloud.client("s3").create_bucket(Bucket="templates")
    cloud.client("s3").put_object(Bucket="templates", Key="a/t+1.json", Body=json.dumps({"Resources": {"Q": QUEUE}}))
    for n, address in enumerate(
        (
            f"{cloud.url}/templates/a/t%2B1.json",
            "https://templates.s3.us-east-1.amazonaws.com/a/t%2B1.json",
            "https://s3.us-east-1.amazonaws.com/templates/a/t%2B1.json",
        )
    ):
        cloud.cfn.create_stack(StackName=f"url{n}", TemplateURL=address)
        assert cloud.settled(f"url{n}") == "CREATE_COMPLETE"
        cloud.delete(f"url{n}")
    with pytest.raises(ClientError, match=r"S3 error: .*key does not exist"):
        cloud.cfn.create_stack(StackName="url", TemplateURL=f"{cloud.url}/templates/none.json")
    with pytest.raises(ClientError, match="Either Template URL or Template Body must be specified"):
        cloud.cfn.create_stack(StackName="url")


def test_what_the_sandbox_cannot_honour_is_refused_in_words(cloud: Any) -> None:
    body = json.dumps({"Resources": {"Q": QUEUE}})
    for option, complaint in (
        ({"StackPolicyBody": "{}"}, "cannot honour StackPolicyBody"),
        ({"NotificationARNs": ["arn:aws:sns:us-east-1:123456789012:t"]}, "publishes no stack events to topics"),
        ({"DeploymentConfig": {"Mode": "EXPRESS"}}, "no express mode"),
        (
            {"RollbackConfiguration": {"RollbackTriggers": [{"Arn": "a", "Type": "AWS::CloudWatch::Alarm"}]}},
            "no rollback triggers",
        ),
    ):
        with pytest.raises(ClientError, match=complaint):
            cloud.cfn.create_stack(StackName="option", TemplateBody=body, **option)


def test_a_resource_cannot_become_one_of_another_type(cloud: Any) -> None:
    cloud.create("type", {"Resources": {"A": QUEUE}})
    with pytest.raises(ClientError, match=r"modifies resource type of the following resources: \[A\]"):
        cloud.update("type", {"Resources": {"A": {"Type": "AWS::SNS::Topic"}}})
    cloud.delete("type")


def test_a_template_can_be_summarised_and_validated(cloud: Any) -> None:
    role = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {}}}
    body = json.dumps(
        {
            "Description": "d",
            "Metadata": {"m": 1},
            "Parameters": {"A": {"Type": "Number", "Default": 1, "AllowedValues": [1, 2], "Description": "pd"}},
            "Resources": {"R": role, "Q": QUEUE},
        }
    )
    summary = cloud.cfn.get_template_summary(TemplateBody=body)
    assert summary["ResourceTypes"] == ["AWS::IAM::Role", "AWS::SQS::Queue"]
    assert summary["Parameters"][0]["ParameterConstraints"] == {"AllowedValues": ["1", "2"]}
    assert summary["Capabilities"] == ["CAPABILITY_IAM"]
    assert json.loads(summary["Metadata"]) == {"m": 1}
    validated = cloud.cfn.validate_template(TemplateBody=body)
    assert validated["Parameters"][0]["DefaultValue"] == "1"
    with pytest.raises(ClientError, match="Every Resources object must contain a Type"):
        cloud.cfn.validate_template(TemplateBody='{"Resources": {"A": {}}}')
