"""Roles for tokens of an issuer, and their sessions."""

from __future__ import annotations

import base64
import json
import time

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from checking import Server, Table
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from .account import REGION, Account, code

ISSUER = "https://issuer.example"


def encoded(value: bytes | dict) -> str:
    value = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


class Issuer:
    """Signs tokens as a garden does."""

    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        numbers = self.key.public_key().public_numbers()
        point = {"x": encoded(numbers.x.to_bytes(32, "big")), "y": encoded(numbers.y.to_bytes(32, "big"))}
        self.jwks = {"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "k", **point}]}

    def token(self, **changes) -> str:
        now = int(time.time())
        claims = {"iss": ISSUER, "sub": "identity", "aud": ["cloud"], "iat": now, "nbf": now, "exp": now + 600, **changes}
        signed = f"{encoded({'alg': 'ES256', 'kid': 'k'})}.{encoded(claims)}"
        r, s = decode_dss_signature(self.key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def sts(server: Server):
    config = Config(signature_version=UNSIGNED, retries={"total_max_attempts": 1})
    return boto3.client("sts", region_name="us-east-1", endpoint_url=server.ready["endpoint"], config=config)


def assume(server: Server, role: str, token: str) -> dict:
    wish = {"RoleArn": role, "RoleSessionName": "check", "WebIdentityToken": token}
    return sts(server).assume_role_with_web_identity(**wish)["Credentials"]


def keys_of(session: dict) -> dict:
    return {
        "aws_access_key_id": session["AccessKeyId"],
        "aws_secret_access_key": session["SecretAccessKey"],
        "aws_session_token": session["SessionToken"],
    }


def prove(server: Server, table: Table) -> None:
    table.section("Roles for tokens of an issuer")
    account, issuer = Account.new(server), Issuer()
    trust = {"issuer": ISSUER, "audience": "cloud", "subject": "identity", "jwks": issuer.jwks}
    role = account.control("POST", "roles", dict(trust))["roleArn"]
    refused = lambda wanted_role, token: code(assume, server, wanted_role, token)
    for what, token, wanted in (
        ("of another issuer", issuer.token(iss="https://other.example"), "InvalidIdentityToken"),
        ("for another audience", issuer.token(aud=["other"]), "InvalidIdentityToken"),
        ("of another subject", issuer.token(sub="other"), "AccessDenied"),
        ("that has expired", issuer.token(exp=int(time.time()) - 1), "ExpiredTokenException"),
        ("that is not valid yet", issuer.token(nbf=int(time.time()) + 600), "InvalidIdentityToken"),
        ("that another key signed", Issuer().token(), "InvalidIdentityToken"),
        ("that is none", "no.token.here", "InvalidIdentityToken"),
    ):
        table.row(f"a token {what}", wanted, refused(role, token))
    table.row("a role that is not there", "AccessDenied", refused(role + "-other", issuer.token()))
    elsewhere = Account.new(server)
    table.row("the role of another account", "AccessDenied", refused(role.replace(account.id, elsewhere.id), issuer.token()))
    first = assume(server, role, issuer.token())
    client = lambda service, **more: account.client(service, **keys_of(first) | more)
    identity = client("sts").get_caller_identity()
    wanted = f"arn:aws:sts::{account.id}:assumed-role/gardener-identity/check"
    table.row("keys of the role: who they are", (account.id, wanted), (identity["Account"], identity["Arn"]))
    table.row("… list volumes", "done", code(client("ec2").describe_volumes))
    table.row("… have no right to list roles", "AccessDenied", code(client("iam").list_roles))
    table.row("… without the session token", "AuthFailure", code(client("ec2", aws_session_token=None).describe_vpcs))
    table.row("… with another session token", "AuthFailure", code(client("ec2", aws_session_token="x").describe_vpcs))
    table.row("… with a wrong secret", "SignatureDoesNotMatch", code(client("sts", aws_secret_access_key="x").get_caller_identity))
    table.row("the role is no leftover", {"empty": True, "left": {}}, account.control("GET", "left"))
    table.row("… nor for boto3", {"empty": True, "left": {}}, account.script("left", "--region", REGION))
    account.control("DELETE", "sessions")
    table.row("a session that has ended: STS", "ExpiredToken", code(client("sts").get_caller_identity))
    table.row("a session that has ended: EC2", "RequestExpired", code(client("ec2").describe_vpcs))
    first = assume(server, role, issuer.token())
    table.row("a new session", "done", code(client("ec2").describe_vpcs))
    account.control("DELETE", "roles")
    table.row("a removed role: its session", "AuthFailure", code(client("ec2").describe_vpcs))
    table.row("a removed role: a new session", "AccessDenied", refused(role, issuer.token()))
