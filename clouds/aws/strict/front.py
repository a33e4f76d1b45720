"""What stands before moto: controls, counts, throttling, rules, regions that are not enabled, and one lock around it all."""

from __future__ import annotations

import datetime
import io
import json
import time
from email.utils import format_datetime
from urllib.parse import parse_qs

from moto.core.request import Request
from moto.core.routing import get_service_router
from moto.iam.models import iam_backends

from . import appear, control, identity
from .access import REQUEST_ID, Refused, bad_credentials, clock_refusal, not_authorized
from .state import ACCOUNTS, LOCK, SENT, Call, run_due

# Answer in every partition's main region only, wherever the caller is.
GLOBAL_SERVICES = {"iam"}
# Enabled in every account: where a client asks who it is and which regions there are, even if a test leaves them out of its regions.
HOME_REGIONS = {"aws": "us-east-1", "aws-cn": "cn-north-1", "aws-us-gov": "us-gov-west-1"}
HOME_ACTIONS = {"sts:GetCallerIdentity", "sts:AssumeRoleWithWebIdentity", "ec2:DescribeRegions"}


def account_of(access_key: str) -> str | None:
    for account in ACCOUNTS.values():
        if access_key in iam_backends[account.id][account.partition].access_keys:
            return account.id
    return None


def read_call(env: dict, body: bytes) -> Call | None:
    """Who asks for what, from the signature's scope; None if the request is not signed."""
    try:
        access_key, _date, region, service, _ = env["HTTP_AUTHORIZATION"].split("Credential=")[1].split(",")[0].split("/")
    except (KeyError, IndexError, ValueError):
        return None
    text = body.decode("utf-8", "replace")
    action = parse_qs(text).get("Action") or parse_qs(env.get("QUERY_STRING", "")).get("Action")
    if not action and service == "elasticfilesystem":
        try:
            action = [get_service_router("efs").match(Request(env.copy()))[0].name]
        except Exception:  # an unknown path: moto answers that
            action = None
    name = action[0] if action else f"{env['REQUEST_METHOD']} {env.get('PATH_INFO', '')}"
    account = ACCOUNTS.get(account_of(access_key) or "")
    return Call(account, access_key, service, region, f"{service}:{name}", env.get("PATH_INFO", "") + "?" + text)


def throttled(service: str) -> Refused:
    if service == "ec2":
        return Refused(service, "RequestLimitExceeded", "Request limit exceeded.", 503)
    if service == "elasticfilesystem":
        return Refused(service, "ThrottlingException", "Rate exceeded", 429)
    return Refused(service, "Throttling", "Rate exceeded", 400)


def pretended(call: Call) -> tuple[str, bytes]:
    """The answer of a call that worked."""
    name = call.action.split(":")[1]
    if call.service == "ec2":
        inner = f"<requestId>{REQUEST_ID}</requestId><return>true</return>"
        return "200 OK", f'<{name}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">{inner}</{name}Response>'.encode()
    if call.service == "elasticfilesystem":
        return "204 No Content", b""
    inner = f"<{name}Result/><ResponseMetadata><RequestId>{REQUEST_ID}</RequestId></ResponseMetadata>"
    return "200 OK", f"<{name}Response>{inner}</{name}Response>".encode()


def with_error_type(headers: list[tuple[str, str]], answer: bytes) -> list[tuple[str, str]]:
    """moto drops the headers of an answer that it refuses for lack of rights."""
    headers = [(k, v) for k, v in headers if k.lower() != "content-type" or "html" not in v]
    if answer.startswith(b"{") and not any(k.lower() == "x-amzn-errortype" for k, _ in headers):
        answer = json.loads(answer)
        headers.append(("X-Amzn-ErrorType", answer.get("ErrorCode") or answer.get("__type") or "Unknown"))
    if not any(k.lower() == "content-type" for k, _ in headers):
        headers.append(("Content-Type", "application/json" if isinstance(answer, dict) else "text/xml"))
    return headers


class Front:
    def __init__(self, moto):
        self.moto = moto

    def __call__(self, env: dict, start_response):
        length = int(env.get("CONTENT_LENGTH") or 0)
        body = env["wsgi.input"].read(length) if length else b""
        env["wsgi.input"] = io.BytesIO(body)
        path = env.get("PATH_INFO", "")
        if path.startswith("/_control"):
            with LOCK:
                run_due()
                return control.answer(env["REQUEST_METHOD"], path, body, start_response)
        if path.startswith("/moto-api"):
            return self.refuse(start_response, Refused("s3", "NoSuchKey", "moto's own controls are switched off", 404))
        with LOCK:
            run_due()
            call = read_call(env, body) or identity.read_call(env, body, HOME_REGIONS)
            early, delay = self.before(env, call)
        if delay:
            time.sleep(delay)  # outside the lock: only this call is slow
        if isinstance(early, Refused):
            return self.refuse(start_response, early)
        if early is not None:
            start_response(early[0], [("Content-Type", "text/xml"), ("Content-Length", str(len(early[1])))])
            return [early[1]]
        return self.pass_on(env, body, call, start_response)

    def before(self, env: dict, call: Call | None) -> tuple[Refused | tuple[str, bytes] | None, float]:
        """An answer instead of moto's, if there is one, and a delay."""
        if call is None:
            return Refused("iam", "MissingAuthenticationToken", "Request is missing Authentication Token", 403), 0
        account = call.account
        is_login = call.action == f"sts:{identity.ACTION}" and not call.access_key
        if account is None:
            return identity.not_authorized() if is_login else bad_credentials(call.service), 0
        account.calls[call.region, call.action] += 1
        now = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=account.skew_seconds)
        if not is_login and (refusal := clock_refusal(call.service, env.get("HTTP_X_AMZ_DATE", ""), now)):
            return refusal, 0
        if refusal := identity.expired(call):
            return refusal, 0
        at_home = call.region == HOME_REGIONS[account.partition] and call.action in HOME_ACTIONS
        if call.service not in GLOBAL_SERVICES and call.region not in account.regions and not at_home:
            return bad_credentials(call.service), 0
        if account.throttle.refuses(call.region):
            account.throttled[call.region] += 1
            return throttled(call.service), 0
        delay = 0.0
        for rule in account.rules:
            if not rule.applies(call):
                continue
            delay += rule.delay_seconds
            if rule.pretend:
                return pretended(call), delay
            if rule.code:
                account.refused[call.region, call.action] += 1
                principal = f"arn:{account.partition}:iam::{account.id}:user/gardener"
                if rule.code == "deny":
                    return not_authorized(call.service, principal, call.action), delay
                return Refused(call.service, rule.code, rule.message, rule.status), delay
        appear.after_call(account, call)
        return None, delay

    def pass_on(self, env: dict, body: bytes, call: Call, start_response):
        got: list = []

        def keep(status, headers, _exc=None):
            got[:] = [status, headers]

        with LOCK:
            if call.access_key:
                SENT.body = body
                answer = b"".join(self.moto(env, keep))
            else:
                answer = self.login(call, body, keep)
        status, headers = got
        if not status.startswith("2"):
            call.account.refused[call.region, call.action] += 1
            headers = with_error_type(headers, answer)
        now = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=call.account.skew_seconds)
        headers = [(k, v) for k, v in headers if k.lower() not in ("content-length", "date", "status")]
        start_response(status, [*headers, ("Content-Length", str(len(answer))), ("Date", format_datetime(now, usegmt=True))])
        return [answer]

    @staticmethod
    def login(call: Call, body: bytes, keep) -> bytes:
        try:
            answer = identity.answer(call.account, body)
        except Refused as refusal:
            keep(f"{refusal.code} {refusal.error_code}", refusal.get_headers())
            return refusal.description.encode()
        keep("200 OK", [("Content-Type", "text/xml")])
        return answer

    @staticmethod
    def refuse(start_response, refusal: Refused):
        body = refusal.description.encode()
        headers = [*refusal.get_headers(), ("Content-Length", str(len(body)))]
        start_response(f"{refusal.code} {refusal.error_code}", headers)
        return [body]
