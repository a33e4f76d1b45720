"""Cleans a project by `openstack project cleanup` of python-openstackclient, to compare. Prints the result as JSON.

{"version": "…", "exitCode": 0, "seconds": 1.0, "said": "the last line"}
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib.metadata import version

from account import parser, ready

# It gives up by itself; this is for one that does not.
MOST_SECONDS = 1800


def main() -> None:
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--auth-url", help="keystone, if it is to be reached through a proxy")
    args = options.parse_args()
    cloud = ready()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OS_")} | {
        "OS_AUTH_URL": args.auth_url or cloud["authUrl"],
        "OS_IDENTITY_API_VERSION": "3",
        "OS_REGION_NAME": cloud["region"],
        "OS_USERNAME": args.project,
        "OS_PASSWORD": args.project,
        "OS_PROJECT_NAME": args.project,
        "OS_USER_DOMAIN_NAME": "Default",
        "OS_PROJECT_DOMAIN_NAME": "Default",
    }
    began = time.monotonic()
    ended = subprocess.run(
        [f"{sys.prefix}/bin/openstack", "project", "cleanup", "--auto-approve", "--auth-project"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    result = {
        "version": f"python-openstackclient {version('python-openstackclient')}, openstacksdk {version('openstacksdk')}",
        "exitCode": ended.returncode,
        "seconds": round(time.monotonic() - began, 1),
        "said": next(iter(reversed(ended.stdout.splitlines())), ""),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
