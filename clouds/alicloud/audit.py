"""Says as JSON, from the SDKs alone, which calls delete something in the services of the table, and which host answers for a service in a
region: {"deletes": ["ecs:DeleteDisk", …], "hosts": {"ecs": {"cn-hangzhou": "…"}}}"""

from __future__ import annotations

import json
import re

from account import PACKAGES, methods, source

DELETES = re.compile(r"^(Delete|Release|Deregister|Terminate)[A-Z]")

# Regions of Alibaba Cloud itself, and of test and partner clouds: no account lists them.
INTERNAL = re.compile(
    r"-pop$|-inner$|-oxs$|nebula|-[a-z]\w*-[abcd]01$|-test-|-internal-|^cn-edge-1$|^cn-(fujian|wuhan|yushanfang|zhangbei)$"
)


def hosts(service: str) -> dict[str, str]:
    """The table of a client."""
    table = re.search(r"_endpoint_map = \{(.*?)\}", source(service), re.DOTALL)
    pairs = re.findall(r"'([^']+)': '([^']+)'", table[1]) if table else []
    return {region: host for region, host in pairs if not INTERNAL.search(region)}


def main() -> None:
    deletes = sorted(f"{service}:{action}" for service in PACKAGES for action in methods(service) if DELETES.match(action))
    print(json.dumps({"deletes": deletes, "hosts": {service: hosts(service) for service in PACKAGES}}))


if __name__ == "__main__":
    main()
