"""How the scripts here reach an account: the usual AWS_* variables, and AWS_ENDPOINT_URL."""

from __future__ import annotations

import argparse
import os

import boto3
from botocore.config import Config

# Throttling is a setting of the test cloud; these scripts are not what is tested.
PATIENT = Config(retries={"mode": "standard", "max_attempts": 20})


def client(service: str, region: str):
    if "AWS_ENDPOINT_URL" not in os.environ:
        raise SystemExit("AWS_ENDPOINT_URL is not set: these scripts must never reach a real account")
    return boto3.client(service, region_name=region, config=PATIENT)


def enabled_regions() -> list[str]:
    ec2 = client("ec2", os.environ.get("AWS_DEFAULT_REGION", "us-east-1"))
    return sorted(region["RegionName"] for region in ec2.describe_regions()["Regions"])


def parser(description: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--region", action="append", help="may be repeated; every enabled region if not given")
    return made
