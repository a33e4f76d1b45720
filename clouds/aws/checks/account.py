"""An account of the test cloud, as the proofs see it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from checking import Server

HERE = Path(__file__).parent.parent
REGION = "eu-central-1"
ONCE = Config(retries={"mode": "standard", "total_max_attempts": 1}, connect_timeout=5, read_timeout=30)


def start(*arguments: str) -> Server:
    return Server([sys.executable, str(HERE / "server.py"), "--watch-stdin", *arguments])


class Account:
    def __init__(self, server: Server, given: dict):
        self.server, self.given, self.id = server, given, given["account"]

    @staticmethod
    def new(server: Server, **wish) -> Account:
        return Account(server, server.control("POST", "accounts", wish))

    def client(self, service: str, region: str = REGION, admin: bool = False, **more):
        keys = self.given["admin"] if admin else self.given
        wish = {
            "aws_access_key_id": keys["accessKeyId"],
            "aws_secret_access_key": keys["secretAccessKey"],
            "endpoint_url": self.server.ready["endpoint"],
            "config": ONCE,
        }
        return boto3.client(service, region_name=region, **wish | more)

    def control(self, method: str, what: str, body: dict | None = None):
        return self.server.control(method, f"accounts/{self.id}/{what}", body)

    def script(self, name: str, *arguments: str, admin: bool = True) -> dict:
        keys = self.given["admin"] if admin else self.given
        environment = {
            "AWS_ENDPOINT_URL": self.server.ready["endpoint"],
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": keys["accessKeyId"],
            "AWS_SECRET_ACCESS_KEY": keys["secretAccessKey"],
        }
        return json.loads(subprocess.check_output([sys.executable, str(HERE / f"{name}.py"), *arguments], env=environment))


def code(act, *arguments, **named) -> str:
    """The code of a refusal, or `done`."""
    try:
        act(*arguments, **named)
    except ClientError as refused:
        return refused.response["Error"]["Code"]
    except Exception as broken:  # plain moto answers 500 here and there
        return type(broken).__name__
    return "done"


class Network:
    """A VPC with one of everything that can be in the way."""

    def __init__(self, account: Account):
        self.ec2 = ec2 = account.client("ec2")
        self.vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        self.subnet = ec2.create_subnet(VpcId=self.vpc, CidrBlock="10.0.1.0/24", AvailabilityZone=f"{REGION}a")["Subnet"][
            "SubnetId"
        ]
        self.subnet2 = ec2.create_subnet(VpcId=self.vpc, CidrBlock="10.0.2.0/24", AvailabilityZone=f"{REGION}b")["Subnet"][
            "SubnetId"
        ]
        self.gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        ec2.attach_internet_gateway(InternetGatewayId=self.gateway, VpcId=self.vpc)

    def group(self, name: str) -> str:
        return self.ec2.create_security_group(GroupName=name, Description="x", VpcId=self.vpc)["GroupId"]

    def refer(self, group: str, source: str) -> None:
        pair = [{"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2, "UserIdGroupPairs": [{"GroupId": source}]}]
        self.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=pair)

    def default_group(self) -> str:
        filters = [{"Name": "vpc-id", "Values": [self.vpc]}, {"Name": "group-name", "Values": ["default"]}]
        return self.ec2.describe_security_groups(Filters=filters)["SecurityGroups"][0]["GroupId"]
