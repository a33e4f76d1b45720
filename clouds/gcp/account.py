"""How the scripts here reach a project: GCP_ENDPOINT, and GCP_KEY with the content of serviceaccount.json."""

from __future__ import annotations

import json
import os

import google.auth.transport.requests
from google.oauth2 import credentials, service_account
from googleapiclient import discovery

SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


def endpoint() -> str:
    if "GCP_ENDPOINT" not in os.environ:
        raise SystemExit("GCP_ENDPOINT is not set: these scripts must never reach a real project")
    return os.environ["GCP_ENDPOINT"]


def key() -> dict:
    return json.loads(os.environ["GCP_KEY"])


def project() -> str:
    return key()["project_id"]


def login() -> credentials.Credentials:
    """A token that google-auth gets for the key. Clients given the key itself would sign each call, which the test cloud does not know."""
    made = service_account.Credentials.from_service_account_info(key(), scopes=SCOPES)
    made.refresh(google.auth.transport.requests.Request())
    return credentials.Credentials(token=made.token)


def build(service: str, version: str):
    """A client made of the discovery document that the pinned google-api-python-client carries."""
    # The address of a service has the path of its methods in it.
    path = {"compute": "/compute/v1/"}.get(service, "/")
    return discovery.build(
        service,
        version,
        credentials=login(),
        client_options={"api_endpoint": endpoint() + path},
        static_discovery=True,
        cache_discovery=False,
    )
