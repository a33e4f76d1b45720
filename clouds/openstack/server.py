"""A whole OpenStack on loopback, from data that was prepared once. Started by clouds/up openstack; clouds/README.md has the contract."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import config
from account import connect
from config import REGION, Ports
from processes import Failed, Processes
from services import Stack, cpu_seconds

STARTED = time.monotonic()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clouds/up openstack", description=__doc__)
    parser.add_argument("--watch-stdin", action="store_true", help="stop when the standard input ends")
    parser.add_argument("--dir", help="where to run, with the logs; a new folder under /tmp if not given")
    parser.add_argument("--keep", action="store_true", help="leave the folder behind")
    parser.add_argument("--person", action="store_true", help="explain what to try instead of printing JSON")
    return parser.parse_args()


def start(state: Path, processes: Processes) -> dict:
    venv = Path(sys.prefix)
    prepared = json.loads((state / "prepared.json").read_text())
    ports = Ports.free()
    config.write(state, venv, ports)
    stack = Stack(state, venv, ports, processes)
    stack.start_database()
    stack.move(prepared)
    stack.forget_compute_node()
    stack.start_all()
    ready = {
        "cloud": "openstack",
        "pid": os.getpid(),
        "dir": str(state),
        "authUrl": ports.urls()["identity"],
        "region": REGION,
        "services": ports.urls(),
        "projects": prepared["projects"],
        "admin": {"username": "admin", "password": "admin", "name": "admin", "domainName": "Default"},
    }
    ask_each_service(ready)
    used = {"readySeconds": round(time.monotonic() - STARTED, 1), "cpuSeconds": round(cpu_seconds(processes), 1)}
    return ready | used


def ask_each_service(ready: dict) -> None:
    """The first request of a tenant has a service load its policies; those that come meanwhile get a 403."""
    tenant = connect(ready["projects"][0]["name"], ready)
    services = (tenant.network.networks, tenant.compute.servers, tenant.block_storage.volumes, tenant.image.images)
    for items in (*services, tenant.load_balancer.load_balancers):
        list(items())


def main() -> None:
    args = arguments()
    archive = Path(os.environ["CLOUDS_OPENSTACK_DATA"])
    # A short path: that of a socket may have 107 characters.
    state = Path(args.dir or tempfile.mkdtemp(prefix="allotment-os-", dir="/tmp")).absolute()
    state.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "--zstd", "-xf", str(archive), "-C", str(state)], check=True)
    (state / "log").mkdir(exist_ok=True)
    stopped = threading.Event()
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, lambda *_: stopped.set())
    if args.watch_stdin:

        def watch() -> None:
            while sys.stdin.buffer.read(4096):
                pass
            stopped.set()

        threading.Thread(target=watch, daemon=True).start()
    processes = Processes(state, remove=not args.keep)
    failure = None
    try:
        # In a thread of its own, so that an end of the standard input stops a start too.
        result: list = []
        starting = threading.Thread(target=lambda: result.append(attempt(state, processes)), daemon=True)
        starting.start()
        while starting.is_alive() and not stopped.wait(0.2):
            pass
        if result and isinstance(result[0], str):
            failure = result[0]
        elif result:
            (state / "openstack.json").write_text(json.dumps(result[0]))
            print(for_a_person(result[0]) if args.person else json.dumps(result[0]), flush=True)
            while not stopped.wait(1):
                if name := processes.dead():
                    failure = f"{name} ended by itself:\n{processes.log_tail(name)}"
                    break
    finally:
        processes.stop()
        if not args.keep:
            shutil.rmtree(state, ignore_errors=True)
    if failure:
        print(f"clouds/up openstack: {failure}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(1 if failure else 0)


def attempt(state: Path, processes: Processes) -> dict | str:
    try:
        return start(state, processes)
    except Failed as failed:
        return str(failed)
    except Exception as broken:
        return f"{type(broken).__name__}: {broken}"


def for_a_person(ready: dict) -> str:
    tenant = ready["projects"][0]
    return f"""OpenStack is ready at {ready["authUrl"]} after {ready["readySeconds"]} seconds: projects acct-a and acct-b.

    export CLOUDS_OPENSTACK={ready["dir"]}/openstack.json
    clouds/run openstack fill       # leaves a force-deleted Shoot in acct-a
    clouds/run openstack left       # says what is there

    export OS_AUTH_URL={ready["authUrl"]} OS_REGION_NAME={ready["region"]} OS_IDENTITY_API_VERSION=3 OS_USERNAME={tenant["username"]}
    export OS_PASSWORD={tenant["password"]} OS_PROJECT_NAME={tenant["name"]} OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default
    {sys.prefix}/bin/openstack server list
"""


if __name__ == "__main__":
    main()
