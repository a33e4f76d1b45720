"""How the scripts here reach an account: ALICLOUD_ENDPOINT, ALICLOUD_ACCESS_KEY_ID, ALICLOUD_ACCESS_KEY_SECRET. Calls go through the
official SDK: its models take the parameters apart, and its clients sign and send them."""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import re
from pathlib import Path

from alibabacloud_tea_openapi.utils_models import Config

PACKAGES = {
    "ecs": "alibabacloud_ecs20140526",
    "vpc": "alibabacloud_vpc20160428",
    "slb": "alibabacloud_slb20140515",
    "nlb": "alibabacloud_nlb20220430",
    "ros": "alibabacloud_ros20190910",
}


def source(service: str) -> str:
    """The client of a service."""
    module = importlib.import_module(f"{PACKAGES[service]}.client")
    return Path(module.__file__).read_text()


@functools.cache
def methods(service: str) -> dict[str, str]:
    """The method of each action."""
    found = re.findall(r"    def (\w+)_with_options\(.*?action = '(\w+)'", source(service), re.DOTALL)
    return {action: method for method, action in found}


@functools.cache
def client(service: str, region: str):
    endpoint = os.environ.get("ALICLOUD_ENDPOINT")
    if not endpoint:
        raise SystemExit("ALICLOUD_ENDPOINT is not set: these scripts must never reach a real account")
    config = Config(
        access_key_id=os.environ["ALICLOUD_ACCESS_KEY_ID"],
        access_key_secret=os.environ["ALICLOUD_ACCESS_KEY_SECRET"],
        endpoint=endpoint.removeprefix("http://"),
        protocol="http",
        region_id=region,
    )
    return importlib.import_module(f"{PACKAGES[service]}.client").Client(config)


def call(service: str, region: str, action: str, **parameters) -> dict:
    """One call; the answer as far as the SDK knows its fields. A parameter that the SDK does not know is an error."""
    models = importlib.import_module(f"{PACKAGES[service]}.models")
    made = getattr(models, f"{action}Request")().from_map(parameters)
    known = made.to_map()
    if unknown := [name for name in parameters if name not in known]:
        raise SystemExit(f"{service}:{action} does not know {unknown}")
    return getattr(client(service, region), methods(service)[action])(made).body.to_map()


def regions() -> list[str]:
    answer = call("ecs", "eu-central-1", "DescribeRegions")
    return sorted(region["RegionId"] for region in answer["Regions"]["Region"])


def parser(description: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--region", action="append", help="may be repeated; every region if not given")
    return made
