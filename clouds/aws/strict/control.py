"""Controls for tests, under /_control. JSON in and out; clouds/README.md has the table."""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict
from pathlib import Path

from moto.iam.models import iam_backends

from . import appear, identity, left
from .access import DEFAULT_REGIONS, all_regions
from .state import ACCOUNTS, Account, Rule, Slow, Throttle, pending, run_due

POLICIES = {
    "gardener": Path(__file__, "../../gardener-policy.json").resolve().read_text(),
    "admin": json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}),
}
SETTINGS = {"page", "emptyPages", "slow", "throttle", "skewSeconds"}
DEFAULTS: dict = {}  # from the command line
_numbers = itertools.count(1)


class Wrong(Exception):
    """A request that makes no sense; the text goes to whoever wrote the test."""


def snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


def fields(cls: type, given: dict):
    try:
        return cls(**{snake(k): v for k, v in given.items()})
    except TypeError as wrong:
        raise Wrong(str(wrong)) from wrong


def set_settings(account: Account, wish: dict) -> None:
    if unknown := set(wish) - SETTINGS:
        raise Wrong(f"unknown settings {sorted(unknown)}; there are {sorted(SETTINGS)}")
    account.page = int(wish.get("page", account.page))
    account.empty_pages = bool(wish.get("emptyPages", account.empty_pages))
    account.skew_seconds = float(wish.get("skewSeconds", account.skew_seconds))
    if "slow" in wish:
        # A number stands for every kind.
        slow = wish["slow"] if isinstance(wish["slow"], dict) else dict.fromkeys(map(camel, asdict(Slow())), float(wish["slow"]))
        account.slow = fields(Slow, {camel(k): v for k, v in asdict(account.slow).items()} | slow)
    if "throttle" in wish:
        account.throttle = fields(Throttle, wish["throttle"])


def new_key(account: Account, user: str) -> dict:
    key = iam_backends[account.id][account.partition].create_access_key(user)
    return {"accessKeyId": key.access_key_id, "secretAccessKey": key.secret_access_key}


def revoke(account: Account, user: str) -> list[str]:
    iam = iam_backends[account.id][account.partition]
    keys = [key.access_key_id for key in iam.list_access_keys(user)]
    for key in keys:
        iam.delete_access_key(key, user)
        iam.access_keys.pop(key, None)
    return keys


def create_account(wish: dict) -> dict:
    """An account of its own for a test: nothing in it, a tenant with Gardener's rights, and an admin for the test itself."""
    wish = DEFAULTS | wish
    partition = wish.pop("partition", "aws")
    regions = wish.pop("regions", None) or (DEFAULT_REGIONS if partition == "aws" else all_regions(partition))
    if unknown := set(regions) - set(all_regions(partition)):
        raise Wrong(f"no such region in {partition}: {sorted(unknown)}")
    policy = wish.pop("policy", "gardener")
    account = Account(f"2{next(_numbers):011d}", partition, list(regions))
    set_settings(account, wish)
    ACCOUNTS[account.id] = account
    iam = iam_backends[account.id][partition]
    for user, document in (
        ("gardener", POLICIES.get(policy) if isinstance(policy, str) else json.dumps(policy)),
        ("admin", POLICIES["admin"]),
    ):
        if document is None:
            raise Wrong(f"policy must be one of {sorted(POLICIES)} or a document")
        iam.create_user(account.regions[0], user)
        iam.put_user_policy(user, "rights", document)
    others = [name for name in all_regions(partition) if name not in regions]
    return {
        "account": account.id,
        "partition": partition,
        "regions": account.regions,
        "disabledRegions": others,
        **new_key(account, "gardener"),
        "admin": new_key(account, "admin"),
    }


def calls(account: Account) -> dict:
    by_region: dict[str, dict[str, int]] = {}
    for (region, action), count in sorted(account.calls.items()):
        by_region.setdefault(region, {})[action] = count
    return {
        "total": sum(account.calls.values()),
        "byRegion": by_region,
        "throttled": dict(account.throttled),
        "refused": {f"{region} {action}": n for (region, action), n in sorted(account.refused.items())},
    }


def of_account(method: str, account: Account, what: str, wish: dict):
    match method, what:
        case "POST", "settings":
            set_settings(account, wish)
        case "POST", "rules":
            account.rules.append(fields(Rule, wish))
        case "DELETE", "rules":
            account.rules.clear()
        case "POST", "hide":
            account.hidden.update(wish["ids"])
        case "DELETE", "hide":
            account.hidden.clear()
        case "POST", "appear":
            return appear.schedule(account, wish)
        case "GET", "appear":
            return account.appearing
        case "DELETE", "appear":
            account.appearing.clear()
        case "GET", "calls":
            return calls(account)
        case "DELETE", "calls":
            for counter in (account.calls, account.throttled, account.refused):
                counter.clear()
        case "GET", "left":
            found = left.of_account(account)
            return {"empty": not found, "left": found}
        case "POST", "keys":
            return new_key(account, wish.get("user", "gardener"))
        case "DELETE", "keys":
            return {"revoked": revoke(account, "gardener")}
        case "POST", "roles":
            return identity.create(account, wish, POLICIES)
        case "DELETE", "roles":
            return {"removed": identity.remove(account)}
        case "DELETE", "sessions":
            return {"ended": identity.end_sessions(account)}
        case _:
            raise Wrong(f"no such control: {method} …/{what}")
    return {}


def route(method: str, path: str, wish: dict):
    match method, path.strip("/").split("/")[1:]:
        case "POST", ["accounts"]:
            return create_account(wish)
        case "GET", ["accounts"]:
            return sorted(ACCOUNTS)
        case "GET", ["pending"]:
            return {"pending": pending()}
        case "POST", ["finish"]:
            return {"finished": run_due(everything=True)}
        case _, ["accounts", account, what] if account in ACCOUNTS:
            return of_account(method, ACCOUNTS[account], what, wish)
    raise Wrong(f"no such control: {method} {path}")


def answer(method: str, path: str, body: bytes, start_response):
    try:
        status, result = "200 OK", route(method, path, json.loads(body or b"{}"))
    except (Wrong, ValueError, KeyError, TypeError) as wrong:
        status, result = "400 Bad Request", {"error": f"{type(wrong).__name__}: {wrong}"}
    out = json.dumps(result).encode()
    start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(out)))])
    return [out]
