"""Rights, signatures, clocks and regions."""

from __future__ import annotations

from botocore.exceptions import ClientError
from checking import Server, Table

from .account import REGION, Account, code


def prove(server: Server, table: Table) -> None:
    table.section("Rights, signatures, clocks and regions")
    account = Account.new(server)
    ec2, iam = account.client("ec2"), account.client("iam")
    table.row("Gardener's rights: list volumes", "done", code(ec2.describe_volumes))
    table.row("Gardener's rights: read a role that is not there", "NoSuchEntity", code(iam.get_role, RoleName="x"))
    table.row("Gardener's rights: list roles", "AccessDenied", code(iam.list_roles))
    table.row("Gardener's rights: list instance profiles", "AccessDenied", code(iam.list_instance_profiles))
    table.row("Gardener's rights: list file systems", "AccessDeniedException", code(account.client("efs").describe_file_systems))
    table.row("the account's id", account.id, account.client("sts").get_caller_identity()["Account"])
    account.control("POST", "rules", {"action": "ec2:DescribeSnapshots", "code": "deny"})
    table.row("a right taken away: EC2", "UnauthorizedOperation", code(ec2.describe_snapshots))
    account.control("POST", "rules", {"action": "autoscaling:*", "region": "us-*", "code": "deny"})
    for region, wanted in (("us-east-1", "AccessDenied"), (REGION, "done")):
        table.row(
            f"a right taken away by region: {region}",
            wanted,
            code(account.client("autoscaling", region).describe_auto_scaling_groups),
        )
    wrong = {"aws_secret_access_key": "wrong"}
    table.row("a wrong secret: EC2", "AuthFailure", code(account.client("ec2", **wrong).describe_vpcs))
    table.row("a wrong secret: STS", "SignatureDoesNotMatch", code(account.client("sts", **wrong).get_caller_identity))
    try:
        account.client("iam", **wrong, aws_session_token=None).get_role(RoleName="x")
    except ClientError as refused:
        table.row("… which repeats the canonical request", True, "x-amz-date:" in refused.response["Error"]["Message"])
    table.row("a region that is not enabled: EC2", "AuthFailure", code(account.client("ec2", "af-south-1").describe_vpcs))
    table.row(
        "a region that is not enabled: ELB",
        "InvalidClientTokenId",
        code(account.client("elb", "af-south-1").describe_load_balancers),
    )
    table.row(
        "DescribeRegions shows the enabled ones",
        account.given["regions"],
        [r["RegionName"] for r in ec2.describe_regions()["Regions"]],
    )
    every = {r["RegionName"]: r["OptInStatus"] for r in ec2.describe_regions(AllRegions=True)["Regions"]}
    table.row("… and AllRegions the others", ("not-opted-in", "opt-in-not-required"), (every["af-south-1"], every[REGION]))
    account.control("POST", "settings", {"skewSeconds": 3600})
    table.row("a clock that is an hour off: EC2", "RequestExpired", code(ec2.describe_vpcs))
    account.control("POST", "settings", {"skewSeconds": 0})
    second = account.control("POST", "keys", {})
    named = {"aws_access_key_id": second["accessKeyId"], "aws_secret_access_key": second["secretAccessKey"]}
    table.row("a second key of the same account", account.id, account.client("sts", **named).get_caller_identity()["Account"])
    account.control("DELETE", "keys")
    table.row("revoked: EC2", "AuthFailure", code(ec2.describe_vpcs))
    table.row("revoked: IAM", "InvalidClientTokenId", code(iam.get_role, RoleName="x"))
    china = Account.new(server, partition="aws-cn", regions=["cn-north-1"])
    identity = china.client("sts", "cn-north-1").get_caller_identity()["Arn"]
    table.row("an account of another partition", f"arn:aws-cn:iam::{china.id}:user/gardener", identity)
