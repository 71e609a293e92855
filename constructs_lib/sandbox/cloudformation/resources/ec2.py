"""AWS::EC2 types."""

from __future__ import annotations

from typing import Any, ClassVar

from .api import ApiType, call
from .base import Made, Request, ResourceError, ResourceType, tag_map

__all__ = [
    "InternetGateway",
    "LaunchTemplate",
    "Route",
    "RouteTable",
    "SecurityGroup",
    "Subnet",
    "SubnetRouteTableAssociation",
    "VPCGatewayAttachment",
    "Vpc",
]


class _Ec2(ApiType):
    """A type that EC2 names with an ID and tags at creation."""

    service = "ec2"
    resource: ClassVar[str]
    attribute: ClassVar[str]

    def parameters(self, request: Request, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the call's parameters with tags in EC2's form."""
        parameters = super().parameters(request, properties)
        tags = parameters.pop("Tags", None)
        if tags:
            parameters["TagSpecifications"] = [{"ResourceType": self.resource, "Tags": tags}]
        return parameters

    def read(self, request: Request) -> dict[str, Any]:
        """Return the ID."""
        return {self.attribute: request.physical_id}

    def tag(self, request: Request) -> None:
        """Tag it."""
        client = request.client("ec2")
        old, new = tag_map(request.old.get("Tags")), tag_map(request.properties.get("Tags"))
        gone = [{"Key": key} for key in old if key not in new]
        if gone:
            client.delete_tags(Resources=[request.physical_id], Tags=gone)
        if new:
            client.create_tags(Resources=[request.physical_id], Tags=[{"Key": k, "Value": v} for k, v in new.items()])


class Vpc(_Ec2):
    """A network."""

    type = "AWS::EC2::VPC"
    attributes = frozenset({"VpcId", "DefaultSecurityGroup", "CidrBlock"})
    create_call, delete_call, identifier = "CreateVpc", "DeleteVpc", "VpcId"
    answer, resource, attribute = ("Vpc", "VpcId"), "vpc", "VpcId"
    apart = frozenset({"EnableDnsHostnames", "EnableDnsSupport"})

    def apply(self, request: Request) -> None:
        """Set the name service options, one a call."""
        for name in sorted(self.apart):
            if request.changed(name):
                value = {"Value": str(request.properties.get(name, name == "EnableDnsSupport")).lower() == "true"}
                request.client("ec2").modify_vpc_attribute(VpcId=request.physical_id, **{name: value})

    def read(self, request: Request) -> dict[str, Any]:
        """Return IDs and address range."""
        groups = request.client("ec2").describe_security_groups(
            Filters=[{"Name": "vpc-id", "Values": [request.physical_id]}, {"Name": "group-name", "Values": ["default"]}]
        )["SecurityGroups"]
        block = request.properties.get("CidrBlock")
        return {"VpcId": request.physical_id, "DefaultSecurityGroup": groups[0]["GroupId"], "CidrBlock": block}


class Subnet(_Ec2):
    """A subnet."""

    type = "AWS::EC2::Subnet"
    attributes = frozenset({"SubnetId", "AvailabilityZone", "VpcId"})
    create_call, delete_call, identifier = "CreateSubnet", "DeleteSubnet", "SubnetId"
    answer, resource, attribute = ("Subnet", "SubnetId"), "subnet", "SubnetId"
    apart = frozenset({"MapPublicIpOnLaunch"})

    def apply(self, request: Request) -> None:
        """Set whether instances get public addresses."""
        if request.changed("MapPublicIpOnLaunch"):
            value = {"Value": str(request.properties.get("MapPublicIpOnLaunch", False)).lower() == "true"}
            request.client("ec2").modify_subnet_attribute(SubnetId=request.physical_id, MapPublicIpOnLaunch=value)

    def read(self, request: Request) -> dict[str, Any]:
        """Return IDs and zone."""
        subnet = request.client("ec2").describe_subnets(SubnetIds=[request.physical_id])["Subnets"][0]
        return {name: subnet[name] for name in self.attributes}


class SecurityGroup(_Ec2):
    """A security group with its rules."""

    type = "AWS::EC2::SecurityGroup"
    attributes = frozenset({"GroupId", "Id", "VpcId"})
    create_call, delete_call, identifier = "CreateSecurityGroup", "DeleteSecurityGroup", "GroupId"
    name = "GroupName"
    name_limit = 255
    rename: ClassVar = {"GroupDescription": "Description"}
    answer, resource, attribute = ("GroupId",), "security-group", "GroupId"
    apart = frozenset({"SecurityGroupIngress", "SecurityGroupEgress"})

    def apply(self, request: Request) -> None:
        """Authorise and revoke rules; rules of one's own for egress replace the one that allows everything."""
        client = request.client("ec2")
        everything = {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}
        for name, direction in (("SecurityGroupIngress", "Ingress"), ("SecurityGroupEgress", "Egress")):
            default = [everything] if direction == "Egress" else []
            old = request.old.get(name) or default
            new = request.properties.get(name) or default
            for verb, rules in (("Revoke", _less(old, new)), ("Authorize", _less(new, old))):
                if rules:
                    permissions = {
                        "GroupId": request.physical_id,
                        "IpPermissions": [_permission(rule) for rule in rules],
                    }
                    call(client, f"{verb}SecurityGroup{direction}", permissions)

    def read(self, request: Request) -> dict[str, Any]:
        """Return IDs."""
        return {"GroupId": request.physical_id, "Id": request.physical_id, "VpcId": request.properties.get("VpcId", "")}


def _less(rules: list[dict[str, Any]], others: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [rule for rule in rules if rule not in others]


def _permission(rule: dict[str, Any]) -> dict[str, Any]:
    described = {"Description": rule["Description"]} if "Description" in rule else {}
    permission: dict[str, Any] = {key: rule[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in rule}
    if "CidrIp" in rule:
        permission["IpRanges"] = [{"CidrIp": rule["CidrIp"], **described}]
    if "CidrIpv6" in rule:
        permission["Ipv6Ranges"] = [{"CidrIpv6": rule["CidrIpv6"], **described}]
    for key in ("SourceSecurityGroupId", "DestinationSecurityGroupId"):
        if key in rule:
            permission["UserIdGroupPairs"] = [{"GroupId": rule[key], **described}]
    return permission


class LaunchTemplate(_Ec2):
    """A launch template; every change of its data is a new version."""

    type = "AWS::EC2::LaunchTemplate"
    attributes = frozenset({"LaunchTemplateId", "DefaultVersionNumber", "LatestVersionNumber"})
    create_call, update_call, delete_call = (
        "CreateLaunchTemplate",
        "CreateLaunchTemplateVersion",
        "DeleteLaunchTemplate",
    )
    name, identifier = "LaunchTemplateName", "LaunchTemplateId"
    name_limit = 128
    answer, resource, attribute = ("LaunchTemplate", "LaunchTemplateId"), "launch-template", "LaunchTemplateId"

    def change(self, request: Request, changed: list[str]) -> None:
        """Make a new version."""
        given = {k: v for k, v in request.properties.items() if k in ("LaunchTemplateData", "VersionDescription")}
        if "TagSpecifications" in changed:
            raise ResourceError("the sandbox cannot change TagSpecifications of AWS::EC2::LaunchTemplate in place")
        call(request.client("ec2"), self.update_call, {**given, **self.key(request)})

    def read(self, request: Request) -> dict[str, Any]:
        """Return ID and versions."""
        answer = request.client("ec2").describe_launch_templates(LaunchTemplateIds=[request.physical_id])
        template = answer["LaunchTemplates"][0]
        versions = {name: str(template[name]) for name in ("DefaultVersionNumber", "LatestVersionNumber")}
        return {"LaunchTemplateId": request.physical_id, **versions}


class InternetGateway(_Ec2):
    """A gateway to the internet."""

    type = "AWS::EC2::InternetGateway"
    attributes = frozenset({"InternetGatewayId"})
    create_call, delete_call, identifier = "CreateInternetGateway", "DeleteInternetGateway", "InternetGatewayId"
    answer, resource = ("InternetGateway", "InternetGatewayId"), "internet-gateway"
    attribute = "InternetGatewayId"


class RouteTable(_Ec2):
    """A route table."""

    type = "AWS::EC2::RouteTable"
    attributes = frozenset({"RouteTableId"})
    create_call, delete_call, identifier = "CreateRouteTable", "DeleteRouteTable", "RouteTableId"
    answer, resource, attribute = ("RouteTable", "RouteTableId"), "route-table", "RouteTableId"


class SubnetRouteTableAssociation(_Ec2):
    """Which route table a subnet uses."""

    type = "AWS::EC2::SubnetRouteTableAssociation"
    attributes = frozenset({"Id"})
    create_call, delete_call, identifier = "AssociateRouteTable", "DisassociateRouteTable", "AssociationId"
    answer, resource, attribute = ("AssociationId",), "", "Id"


class VPCGatewayAttachment(ResourceType):
    """An internet gateway at a network."""

    type = "AWS::EC2::VPCGatewayAttachment"
    attributes = frozenset({"AttachmentType"})

    def create(self, request: Request) -> Made:
        """Attach."""
        if "InternetGatewayId" not in request.properties:
            raise ResourceError("the sandbox attaches internet gateways only: give InternetGatewayId")
        request.client("ec2").attach_internet_gateway(**self._pair(request.properties))
        return Made(f"IGW|{request.properties['VpcId']}", {"AttachmentType": "IGW"})

    def update(self, request: Request) -> Made:
        """Detach the old gateway and attach the new one."""
        request.client("ec2").detach_internet_gateway(**self._pair(request.old))
        return self.create(request)

    def delete(self, request: Request) -> None:
        """Detach."""
        request.client("ec2").detach_internet_gateway(**self._pair(request.properties))

    @staticmethod
    def _pair(properties: dict[str, Any]) -> dict[str, str]:
        return {key: properties[key] for key in ("InternetGatewayId", "VpcId")}


class Route(ApiType):
    """A route."""

    type = "AWS::EC2::Route"
    attributes = frozenset({"CidrBlock"})
    service = "ec2"
    create_call, update_call, delete_call = "CreateRoute", "ReplaceRoute", "DeleteRoute"
    identity = ("RouteTableId", "DestinationCidrBlock", "DestinationIpv6CidrBlock")

    def read(self, request: Request) -> dict[str, Any]:
        """Return the destination."""
        return {"CidrBlock": request.physical_id.partition("|")[2]}
