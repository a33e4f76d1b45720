"""Roles that tokens of somebody else's issuer are exchanged for: sts:AssumeRoleWithWebIdentity, the one call that is not signed.

moto gives keys to whoever asks. AWS reads the token: its signature, issuer, audience, subject and times.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import json
import time
from dataclasses import dataclass
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from moto.iam.models import iam_backends
from moto.sts.models import sts_backends

from .access import REQUEST_ID, Refused
from .state import ACCOUNTS, Account, Call

ACTION = "AssumeRoleWithWebIdentity"
# Of a session, if the caller asks for none.
DEFAULT_SECONDS = 3600


@dataclass
class Trust:
    """Whose tokens a role accepts."""

    issuer: str
    audience: str
    subject: str
    jwks: dict
    session_seconds: float | None = None  # shorter than AWS allows, for tests


def create(account: Account, wish: dict, policies: dict[str, str]) -> dict:
    name, policy = wish.pop("name", "gardener-identity"), wish.pop("policy", "gardener")
    trust = Trust(**{"session_seconds" if key == "sessionSeconds" else key: value for key, value in wish.items()})
    iam = iam_backends[account.id][account.partition]
    provider = f"arn:{account.partition}:iam::{account.id}:oidc-provider/{trust.issuer.removeprefix('https://')}"
    document = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Federated": provider},
                "Action": f"sts:{ACTION}",
                "Condition": {"StringEquals": {f"{trust.issuer}:aud": trust.audience, f"{trust.issuer}:sub": trust.subject}},
            }
        ],
    }
    role = iam.create_role(name, json.dumps(document), "/", None, "", [], str(DEFAULT_SECONDS))
    iam.put_role_policy(name, "rights", policies[policy] if isinstance(policy, str) else json.dumps(policy))
    account.trusts[name] = trust
    return {"roleArn": role.arn}


def remove(account: Account) -> list[str]:
    """Whoever has a session of the role loses it at once."""
    iam = iam_backends[account.id][account.partition]
    removed = sorted(account.trusts)
    for name in removed:
        iam.delete_role_policy(name, "rights")
        iam.delete_role(name)
    account.trusts.clear()
    sessions = sts_backends[account.id][account.partition].assumed_roles
    for session in [session for session in sessions if session.role_arn.split("/")[-1] in removed]:
        sessions.remove(session)
        iam.access_keys.pop(session.access_key_id, None)
    return removed


def end_sessions(account: Account) -> int:
    """Every session has ended a second ago."""
    sessions = sts_backends[account.id][account.partition].assumed_roles
    for session in sessions:
        session.expiration = now() - datetime.timedelta(seconds=1)
    return len(sessions)


def now() -> datetime.datetime:
    """moto's times have no zone."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def expired(call: Call) -> Refused | None:
    """A signed call with the keys of a session that has ended; EC2 says it as of a request."""
    session = sts_backends[call.account.id][call.account.partition].get_assumed_role_from_access_key(call.access_key)
    if session is None or session.expiration.replace(tzinfo=None) > now():
        return None
    if call.service == "ec2":
        return Refused(call.service, "RequestExpired", "Request has expired.", 400)
    code = "ExpiredTokenException" if call.service == "elasticfilesystem" else "ExpiredToken"
    return Refused(call.service, code, "The security token included in the request is expired", 403)


def read_call(env: dict, body: bytes, home: dict[str, str]) -> Call | None:
    """The one call that needs no signature. Its role tells the account; whoever names none of ours reaches no account."""
    form = parse_qs(body.decode("utf-8", "replace"))
    if form.get("Action") != [ACTION] or "HTTP_AUTHORIZATION" in env:
        return None
    arn = form.get("RoleArn", [""])[0].split(":")
    account = ACCOUNTS.get(arn[4]) if len(arn) == 6 else None
    region = home[account.partition] if account and arn[1] == account.partition else "us-east-1"
    # Without the token: rules match parts of the text, and nothing else needs it.
    return Call(account, "", "sts", region, f"sts:{ACTION}", "/?" + arn[-1])


def answer(account: Account, body: bytes) -> bytes:
    form = {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
    missing = [name for name in ("RoleArn", "RoleSessionName", "WebIdentityToken") if not form.get(name)]
    if missing or form.get("Version") != "2011-06-15":
        raise Refused("sts", "ValidationError", f"1 validation error detected: missing {', '.join(missing) or 'Version'}", 400)
    arn, token = form["RoleArn"], form["WebIdentityToken"]
    name = arn.split("/")[-1]
    trust = account.trusts.get(name)
    if trust is None or arn != f"arn:{account.partition}:iam::{account.id}:role/{name}":
        raise not_authorized()
    claims = check(token, trust)
    seconds = trust.session_seconds or int(form.get("DurationSeconds", DEFAULT_SECONDS))
    session = sts_backends[account.id][account.partition].assume_role_with_web_identity(
        region_name=account.regions[0],
        role_session_name=form["RoleSessionName"],
        role_arn=arn,
        policy=None,
        duration=seconds,
        external_id=None,
    )
    fields = {
        "AccessKeyId": session.access_key_id,
        "SecretAccessKey": session.secret_access_key,
        "SessionToken": session.session_token,
        "Expiration": session.expiration.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    credentials = "".join(f"<{key}>{escape(value)}</{key}>" for key, value in fields.items())
    user = f"<AssumedRoleId>{escape(session.user_id)}</AssumedRoleId><Arn>{escape(session.arn)}</Arn>"
    result = (
        f"<SubjectFromWebIdentityToken>{escape(claims['sub'])}</SubjectFromWebIdentityToken>"
        f"<Audience>{escape(trust.audience)}</Audience><Provider>{escape(trust.issuer)}</Provider>"
        f"<AssumedRoleUser>{user}</AssumedRoleUser><Credentials>{credentials}</Credentials>"
    )
    metadata = f"<ResponseMetadata><RequestId>{REQUEST_ID}</RequestId></ResponseMetadata>"
    namespace = "https://sts.amazonaws.com/doc/2011-06-15/"
    return f'<{ACTION}Response xmlns="{namespace}"><{ACTION}Result>{result}</{ACTION}Result>{metadata}</{ACTION}Response>'.encode()


def not_authorized() -> Refused:
    """AWS does not tell a role that is not there from one that does not trust the caller."""
    return Refused("sts", "AccessDenied", f"Not authorized to perform sts:{ACTION}", 403)


def invalid(message: str) -> Refused:
    return Refused("sts", "InvalidIdentityToken", message, 400)


def check(token: str, trust: Trust) -> dict:
    """The claims of a token that a role accepts. The order is that of AWS: who signed it, for whom, until when, for which role."""
    try:
        head, payload, signature = token.split(".")
        header, claims = json.loads(decoded(head)), json.loads(decoded(payload))
        raw = decoded(signature)
    except (ValueError, binascii.Error) as wrong:
        raise invalid("The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)") from wrong
    if claims.get("iss") != trust.issuer:
        raise invalid(f"No OpenIDConnect provider found in your account for {claims.get('iss')}")
    if not is_signed(f"{head}.{payload}".encode(), raw, header, trust.jwks):
        raise invalid("Couldn't retrieve verification key from your identity provider")
    audiences = claims.get("aud", [])
    if trust.audience not in (audiences if isinstance(audiences, list) else [audiences]):
        raise invalid("Incorrect token audience")
    if claims.get("exp", 0) <= time.time():
        dates = f"current date/time {int(time.time())} must be before the expiration date/time {claims.get('exp')}"
        raise Refused("sts", "ExpiredTokenException", f"Token expired: {dates}", 400)
    # A minute for clocks that differ.
    if max(claims.get("nbf", 0), claims.get("iat", 0)) > time.time() + 60:
        raise invalid("The token is not valid yet")
    if claims.get("sub") != trust.subject:
        raise not_authorized()
    return claims


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def number(part: str) -> int:
    return int.from_bytes(decoded(part), "big")


def is_signed(signed: bytes, signature: bytes, header: dict, jwks: dict) -> bool:
    """By a key of the issuer, with the algorithm of the key and no other."""
    for key in jwks.get("keys", []):
        if key.get("kid") != header.get("kid") or key.get("alg") != header.get("alg"):
            continue
        try:
            if key["alg"] == "ES256" and len(signature) == 64:
                public = ec.EllipticCurvePublicNumbers(number(key["x"]), number(key["y"]), ec.SECP256R1()).public_key()
                halves = (int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
                public.verify(encode_dss_signature(*halves), signed, ec.ECDSA(hashes.SHA256()))
                return True
            if key["alg"] == "RS256":
                public = rsa.RSAPublicNumbers(number(key["e"]), number(key["n"])).public_key()
                public.verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
                return True
        except InvalidSignature:
            return False
    return False
