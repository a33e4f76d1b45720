"""Writes crates/clouds/src/gcp/recorded.json: what google-auth sends to log in, for the tests that compare our client with it.

The key is that of the simulator, which is in the repository and opens nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qsl

from google.auth import identity_pool
from google.oauth2 import service_account

CRATES = Path(__file__).resolve().parents[2] / "crates"
SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
EMAIL, KEY_ID = "gardener@pool-17.iam.gserviceaccount.com", "0123456789abcdef"
TOKEN_URI = "https://oauth2.googleapis.com/token"
AUDIENCE = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/garden/providers/gardener"


class Supplier(identity_pool.SubjectTokenSupplier):
    def get_subject_token(self, context, request):
        return "subject"


class Answer:
    status, headers = 200, {}
    data = json.dumps({"access_token": "t", "expires_in": 3600, "token_type": "Bearer", "issued_token_type": "x"}).encode()


def assertion() -> dict:
    info = {
        "type": "service_account",
        "project_id": "pool-17",
        "client_email": EMAIL,
        "private_key_id": KEY_ID,
        "private_key": (CRATES / "simulators/src/gcp/key.pem").read_text(),
        "token_uri": TOKEN_URI,
    }
    made = service_account.Credentials.from_service_account_info(info, scopes=SCOPES)
    return {
        "clientEmail": EMAIL,
        "privateKeyId": KEY_ID,
        "tokenUri": TOKEN_URI,
        "assertion": made._make_authorization_grant_assertion().decode(),
    }


def exchange() -> dict:
    sent = {}

    def request(url, method="GET", body=None, headers=None, **_):
        sent.update(url=url, method=method, body=body)
        return Answer()

    made = identity_pool.Credentials(
        audience=AUDIENCE,
        subject_token_type="urn:ietf:params:oauth:token-type:jwt",
        token_url="https://sts.googleapis.com/v1/token",
        subject_token_supplier=Supplier(),
        scopes=SCOPES,
    )
    made.refresh(request)
    body = sent["body"].decode() if isinstance(sent["body"], bytes) else sent["body"]
    return {"audience": AUDIENCE, "form": sorted(parse_qsl(body))}


def main() -> None:
    recorded = {"assertion": assertion(), "exchange": exchange()}
    (CRATES / "clouds/src/gcp/recorded.json").write_text(json.dumps(recorded, indent=2) + "\n")
    print(json.dumps({"written": "recorded.json"}))


if __name__ == "__main__":
    main()
