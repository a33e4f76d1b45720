"""Proves the strictness of the test AWS through boto3, row by row. Started by clouds/check.

Each row is an act, the code with which AWS refuses it or the state it has, and what was seen. Plain moto is asked the same, and has
to fail: a row that plain moto passes too would prove nothing of ours.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from checking import Server, Table  # noqa: E402
from checks import controls, identity, paging, refusals, rights, states  # noqa: E402
from checks.account import REGION, Account, start  # noqa: E402
from sweep import sweep  # noqa: E402


def cleaning(server: Server, table: Table) -> None:
    table.section("A force-deleted Shoot, left behind and cleaned")
    account = Account.new(server, slow=1.5)
    begun = time.monotonic()
    made = account.script("fill", "--region", REGION, "--region", "us-east-1", "--protect", admin=False)
    print(
        f"        filled with the tenant's rights: {sum(len(i) for kinds in made.values() for i in kinds.values())} items, {time.monotonic() - begun:.1f} s"
    )
    before = account.script("left")
    table.row("two regions and the global part have leftovers", [REGION, "global", "us-east-1"], sorted(before["left"]))
    begun = time.monotonic()
    passes = max(sweep(account.client, region, "shoot--p--c") for region in (REGION, "us-east-1"))
    calls = account.control("GET", "calls")["total"]
    print(f"        swept in {passes} passes, {time.monotonic() - begun:.1f} s, {calls} calls in all")
    table.row("boto3 sees nothing any more", {"empty": True, "left": {}}, account.script("left"))
    table.row("nor does moto's memory", {"empty": True, "left": {}}, account.control("GET", "left"))


def compare(table: Table, strict: dict, plain: dict, moto_does: set[str]) -> None:
    for act, (wanted, seen) in strict.items():
        table.row(act, wanted, seen)
    same = {act for act, (wanted, seen) in plain.items() if wanted == seen}
    for act, (_, seen) in plain.items():
        if act not in same:
            print(f"        plain moto: {act}: {seen}")
    table.row(f"plain moto, asked {len(plain)} of these, does only what is known", sorted(moto_does), sorted(same))


def main() -> int:
    table = Table()
    strict, plain = start(), start("--plain")
    try:
        for title, part, known in (("Refusals", refusals, refusals.MOTO_REFUSES), ("States", states, states.MOTO_KNOWS)):
            table.section(title)
            rows: list[dict] = [{}, {}]
            for server, found in zip((strict, plain), rows, strict=True):
                try:
                    part.probe(Account.new(server), found)
                except Exception as broken:
                    print(f"        stopped after {len(found)} rows: {broken}")
                    if server is strict:
                        raise
            compare(table, *rows, known)
        paging.prove(Account.new(strict, policy="admin"), table)
        rights.prove(strict, table)
        identity.prove(strict, table)
        controls.prove(strict, table)
        cleaning(strict, table)
    finally:
        codes = [server.stop() for server in (strict, plain)]
    table.section("Stopping")
    table.row("both servers ended with their standard input", [0, 0], codes)
    return table.summary()


if __name__ == "__main__":
    sys.exit(main())
