"""The accounts of this cloud and their settings, and a schedule of changes that happen later.

One lock guards everything, moto included: moto's backends are plain dicts, and a test that depends on a data race is of no use.
"""

from __future__ import annotations

import fnmatch
import heapq
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

LOCK = threading.RLock()


@dataclass
class Rule:
    """One thing that goes wrong for calls that match it. Globs; None matches everything."""

    action: str = "*"  # service:Operation, as in an IAM policy
    region: str = "*"
    contains: str | None = None  # a substring of the request, mostly an id
    code: str | None = None  # refuse with this code; `deny` stands for the service's own "not authorized"
    status: int = 400
    message: str = "refused by a rule of the test"
    pretend: bool = False  # answer as if it had worked, and do nothing
    delay_seconds: float = 0.0
    skip: int = 0  # let so many matching calls pass first
    times: int | None = None  # then apply so often
    seen: int = 0

    def applies(self, call: Call) -> bool:
        if not fnmatch.fnmatchcase(call.action, self.action) or not fnmatch.fnmatchcase(call.region, self.region):
            return False
        if self.contains is not None and self.contains not in call.text:
            return False
        self.seen += 1
        return self.seen > self.skip and (self.times is None or self.seen <= self.skip + self.times)


@dataclass
class Throttle:
    """Every n-th call of a region is refused, or every call beyond a bucket of tokens, or both."""

    every: int = 0
    per_second: float = 0.0
    burst: float = 0.0
    regions: list[str] = field(default_factory=lambda: ["*"])
    calls: Counter = field(default_factory=Counter)
    buckets: dict[str, tuple[float, float]] = field(default_factory=dict)

    def refuses(self, region: str) -> bool:
        if not any(fnmatch.fnmatchcase(region, pattern) for pattern in self.regions):
            return False
        self.calls[region] += 1
        if self.every and self.calls[region] % self.every == 0:
            return True
        if not self.per_second:
            return False
        now = time.monotonic()
        tokens, at = self.buckets.get(region, (self.burst, now))
        tokens = min(self.burst, tokens + (now - at) * self.per_second)
        self.buckets[region] = (max(0.0, tokens - 1), now)
        return tokens < 1


@dataclass
class Slow:
    """How long a deletion takes, in seconds, by kind. AWS takes minutes; tests need to see the states in between, not to wait."""

    instance: float = 1.0
    nat_gateway: float = 1.0
    load_balancer_interface: float = 1.0
    vpc_endpoint: float = 1.0
    auto_scaling_group: float = 1.0
    mount_target: float = 1.0


@dataclass
class Account:
    id: str
    partition: str
    regions: list[str]
    page: int = 3
    empty_pages: bool = False
    skew_seconds: float = 0.0  # how far the clock of this cloud is ahead
    slow: Slow = field(default_factory=Slow)
    throttle: Throttle = field(default_factory=Throttle)
    rules: list[Rule] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    appearing: list[dict] = field(default_factory=list)
    trusts: dict = field(default_factory=dict)  # roles for tokens of an issuer, by name; see identity.py
    calls: Counter = field(default_factory=Counter)  # (region, action)
    throttled: Counter = field(default_factory=Counter)
    refused: Counter = field(default_factory=Counter)


@dataclass
class Call:
    """A request as the layer in front of moto sees it."""

    account: Account | None
    access_key: str
    service: str
    region: str
    action: str
    text: str


class Sent:
    """The body of the request that moto works on. The lock is held meanwhile, so there is only one."""

    body: bytes = b""


SENT = Sent()
ACCOUNTS: dict[str, Account] = {}
_due: list[tuple[float, int, Callable[[], None]]] = []
_order = itertools.count()


def later(seconds: float, change: Callable[[], None]) -> None:
    """Runs a change at the first request after so many seconds; at once if the time is zero."""
    if seconds <= 0:
        change()
    else:
        heapq.heappush(_due, (time.monotonic() + seconds, next(_order), change))


def run_due(everything: bool = False) -> int:
    """Runs the changes whose time has come, and says how many."""
    ran = 0
    while _due and (everything or _due[0][0] <= time.monotonic()):
        heapq.heappop(_due)[2]()
        ran += 1
    return ran


def pending() -> int:
    return len(_due)


def slow_of(account_id: str) -> Slow:
    account = ACCOUNTS.get(account_id)
    return account.slow if account else Slow()
