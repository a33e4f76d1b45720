"""Logs in to the simulator as the SDK does: with the secret, and with AZURE_ASSERTION, a token of a workload identity."""

from __future__ import annotations

import json
import os

from account import LOGIN, SCOPE, Redirect, credential
from azure.identity import ClientAssertionCredential


def main() -> None:
    workload = ClientAssertionCredential(
        os.environ["AZURE_TENANT_ID"],
        os.environ["AZURE_CLIENT_ID"],
        lambda: os.environ["AZURE_ASSERTION"],
        authority=LOGIN,
        disable_instance_discovery=True,
        transport=Redirect(),
    )
    print(json.dumps([bool(login.get_token(SCOPE).token) for login in (credential(), workload)]))


if __name__ == "__main__":
    main()
