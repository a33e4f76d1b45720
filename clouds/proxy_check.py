"""Proves the faults of the proxy, before the test AWS and through boto3. Started by clouds/check proxy."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "aws")]

from checking import Server, Table  # noqa: E402
from checks.account import REGION, Account, code, start  # noqa: E402


def main() -> int:
    table = Table()
    cloud = start()
    with tempfile.NamedTemporaryFile("w", suffix=".json") as script:
        json.dump([{"do": "status", "status": 429, "action": "ec2:DescribeVolumes", "times": 1}], script)
        script.flush()
        proxy = Server(
            [
                sys.executable,
                str(HERE / "proxy.py"),
                "--watch-stdin",
                "--upstream",
                f"aws={cloud.ready['endpoint']}",
                "--script",
                script.name,
            ]
        )
    try:
        account = Account.new(cloud)
        through = {"endpoint_url": proxy.ready["endpoint"]}
        ec2, direct = account.client("ec2", **through), account.client("ec2")
        iam = account.client("iam", **through)
        table.section("Faults of the proxy")
        volumes = lambda: len(direct.describe_volumes()["Volumes"])
        create = {"AvailabilityZone": f"{REGION}a", "Size": 1}
        table.row(
            "429 from the script, once; the signature holds through the proxy",
            ["RequestLimitExceeded", "done"],
            [code(ec2.describe_volumes) for _ in range(2)],
        )

        def rule(**wish) -> None:
            proxy.control("DELETE", "rules")
            proxy.control("POST", "rules", wish)

        rule(do="status", status=503, every=2, action="ec2:*")
        table.row("503 for every second call", ["done", "Unavailable"] * 2, [code(ec2.describe_vpcs) for _ in range(4)])
        rule(do="status", status=403, action="iam:GetRole")
        table.row(
            "403 by action",
            ["AccessDenied", "NoSuchEntity"],
            [code(iam.get_role, RoleName="x"), code(iam.get_instance_profile, InstanceProfileName="x")],
        )
        rule(do="status", status=403, path="/2015-02-01/file-systems*")
        table.row(
            "403 by path",
            "AccessDenied",
            code(account.client("efs", admin=True, **through).describe_file_systems).replace("403", "AccessDenied"),
        )
        rule(do="cutBefore", action="ec2:CreateVolume", times=1)
        table.row(
            "a connection cut before the write", ("ConnectionClosedError", 0), (code(ec2.create_volume, **create), volumes())
        )
        rule(do="cutAfter", action="ec2:CreateVolume", times=1)
        table.row(
            "a connection cut after the write: it took place",
            ("ConnectionClosedError", 1),
            (code(ec2.create_volume, **create), volumes()),
        )
        rule(do="delay", seconds=0.6, action="ec2:DescribeVpcs")
        begun = time.monotonic()
        ec2.describe_vpcs()
        table.row("a delay", True, 0.6 <= time.monotonic() - begun < 10)
        rule(do="status", status=429, retryAfter=2, contains="Action=DescribeTags")
        try:
            ec2.describe_tags()
        except ec2.exceptions.ClientError as refused:
            table.row("Retry-After", "2", refused.response["ResponseMetadata"]["HTTPHeaders"].get("retry-after"))
        rule(do="status", status=500, body="not XML at all", action="ec2:DescribeTags", times=1)
        table.row("a body that is no XML", "ResponseParserError", code(ec2.describe_tags))
        counts = proxy.control("GET", "counts")
        wanted = {"429": 2, "503": 2, "403": 2, "cutBefore": 1, "cutAfter": 1, "delay": 1, "500": 1}
        table.row("counts of faults", wanted, counts["faults"])
        table.row(
            "counts of requests",
            (4 + 1, 2),
            (counts["requests"]["aws ec2:DescribeVpcs"], counts["requests"]["aws ec2:DescribeTags"]),
        )
    finally:
        codes = [proxy.stop(), cloud.stop()]
    table.row("both ended with their standard input", [0, 0], codes)
    return table.summary()


if __name__ == "__main__":
    sys.exit(main())
