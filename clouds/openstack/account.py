"""How the scripts here reach a project: through the file that CLOUDS_OPENSTACK names, as clouds/up openstack wrote it."""

from __future__ import annotations

import argparse
import json
import os
import time

import openstack


def ready() -> dict:
    if "CLOUDS_OPENSTACK" not in os.environ:
        raise SystemExit("CLOUDS_OPENSTACK is not set: it names the openstack.json in the folder of a running cloud")
    with open(os.environ["CLOUDS_OPENSTACK"]) as file:
        return json.load(file)


def connect(name: str, cloud: dict | None = None) -> openstack.connection.Connection:
    """By password: what an application credential may do, and no more, is for the cleaner to find out."""
    cloud = cloud or ready()
    # Every project here has a user with its name, whose password is the same.
    auth = {
        "auth_url": cloud["authUrl"],
        "username": name,
        "password": name,
        "project_name": name,
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    }
    return openstack.connect(auth=auth, region_name=cloud["region"])


def parser(description: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--project", default="acct-a")
    return made


def wait(what: str, check, seconds: float = 900.0):
    """The first result that is true."""
    until = time.monotonic() + seconds
    while True:
        if found := check():
            return found
        if time.monotonic() > until:
            raise SystemExit(f"{what} did not happen within {seconds:.0f} seconds")
        time.sleep(0.3)
