"""How the scripts here reach a subscription of the simulator: by the environment that a test gives them.

AZURE_ENDPOINT, AZURE_SUBSCRIPTION_ID, AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_CLIENT_SECRET. The simulator speaks HTTP on loopback,
which the SDK refuses to log in to: the login goes to the real name and is sent to the simulator by the transport.
"""

from __future__ import annotations

import os

from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.core.pipeline.transport import RequestsTransport
from azure.identity import ClientSecretCredential

SCOPE = "https://management.azure.com/.default"
LOGIN = "https://login.microsoftonline.com"


class Redirect(RequestsTransport):
    """Sends to the simulator what is meant for the login."""

    def send(self, request, **kwargs):
        request.url = request.url.replace(LOGIN, os.environ["AZURE_ENDPOINT"])
        return super().send(request, **kwargs)


class Bearer(SansIOHTTPPolicy):
    """The SDK's own policy refuses HTTP."""

    def __init__(self, credential):
        self.credential = credential

    def on_request(self, request):
        request.http_request.headers["Authorization"] = f"Bearer {self.credential.get_token(SCOPE).token}"


def credential() -> ClientSecretCredential:
    return ClientSecretCredential(
        os.environ["AZURE_TENANT_ID"],
        os.environ["AZURE_CLIENT_ID"],
        os.environ["AZURE_CLIENT_SECRET"],
        authority=LOGIN,
        disable_instance_discovery=True,
        transport=Redirect(),
    )


class Clients:
    """Clients of the SDK by their class, all with one login."""

    def __init__(self):
        self.subscription = os.environ["AZURE_SUBSCRIPTION_ID"]
        self.root = f"/subscriptions/{self.subscription}"
        self.credential = credential()
        self.made: dict[type, object] = {}

    def __call__(self, client: type):
        if client not in self.made:
            self.made[client] = client(
                self.credential,
                self.subscription,
                base_url=os.environ["AZURE_ENDPOINT"],
                credential_scopes=[SCOPE],
                authentication_policy=Bearer(self.credential),
                polling_interval=0,
            )
        return self.made[client]
