"""moto behind a strict layer, on loopback. Started by clouds/up aws; clouds/README.md has the contract."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time

# Before moto is imported: no "own" snapshots by the thousand, every signature and policy checked from the first call on.
os.environ.update(
    MOTO_EC2_LOAD_DEFAULT_AMIS="false",
    INITIAL_NO_AUTH_ACTION_COUNT="0",
    AWS_DEFAULT_REGION="us-east-1",
    AWS_EC2_METADATA_DISABLED="true",
)
STARTED = time.monotonic()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clouds/up aws", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--watch-stdin", action="store_true", help="stop when the standard input ends")
    parser.add_argument("--accounts", type=int, default=1, help="how many accounts to begin with; tests can ask for more")
    parser.add_argument(
        "--regions", default="eu-central-1,us-east-1,ap-south-1", help="enabled regions, or `default` for the usual 17"
    )
    parser.add_argument("--page", type=int, default=3, help="items on a page, at most")
    parser.add_argument("--slow-seconds", type=float, default=1.0, help="how long slow deletions take")
    parser.add_argument("--throttle-every", type=int, default=0, help="refuse every n-th call of a region; 0 is never")
    parser.add_argument("--policy", default="gardener", choices=["gardener", "admin"], help="rights of the tenant")
    parser.add_argument("--plain", action="store_true", help="moto as it is, without the strict layer: for comparisons")
    parser.add_argument("--person", action="store_true", help="explain what to try instead of printing JSON")
    return parser.parse_args()


def application(args: argparse.Namespace):
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from strict import access, control, front, paging, refusals, slow

    control.DEFAULTS.update(
        regions=None if args.regions == "default" else args.regions.split(","),
        page=args.page,
        slow=0 if args.plain else args.slow_seconds,
        throttle={"every": args.throttle_every},
        policy=args.policy,
    )
    if args.plain:
        control.DEFAULTS["page"] = 1_000_000
    else:
        for part in (slow, refusals, paging, access):
            part.install()
    accounts = [control.create_account({}) for _ in range(args.accounts)]
    return front.Front(DomainDispatcherApplication(create_backend_app)), accounts


def main() -> None:
    args = arguments()
    from moto.moto_server.werkzeug_app import MotoRequestHandler
    from werkzeug.serving import make_server

    class Handler(MotoRequestHandler):
        protocol_version = "HTTP/1.1"  # connections are kept, as AWS keeps them

        def log(self, *_args) -> None:
            """Requests carry signatures; nothing of them belongs into a log."""

    app, accounts = application(args)
    server = make_server("127.0.0.1", args.port, app, threaded=True, request_handler=Handler)
    server.daemon_threads = True
    stopped = threading.Event()
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, lambda *_: stopped.set())
    if args.watch_stdin:

        def watch() -> None:
            while sys.stdin.buffer.read(4096):
                pass
            stopped.set()

        threading.Thread(target=watch, daemon=True).start()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    ready = {
        "cloud": "aws",
        "pid": os.getpid(),
        "readySeconds": round(time.monotonic() - STARTED, 1),
        "endpoint": endpoint,
        "control": f"{endpoint}/_control",
        "regions": accounts[0]["regions"] if accounts else [],
        "accounts": accounts,
    }
    print(for_a_person(ready) if args.person else json.dumps(ready), flush=True)
    stopped.wait()
    os._exit(0)  # threads of open connections would keep the interpreter


def for_a_person(ready: dict) -> str:
    account = ready["accounts"][0]
    return f"""AWS is ready at {ready["endpoint"]}: account {account["account"]}, regions {" ".join(ready["regions"])}.

    export AWS_ENDPOINT_URL={ready["endpoint"]} AWS_DEFAULT_REGION={ready["regions"][0]}
    export AWS_ACCESS_KEY_ID={account["accessKeyId"]} AWS_SECRET_ACCESS_KEY={account["secretAccessKey"]}   # Gardener's rights
    export AWS_ACCESS_KEY_ID={account["admin"]["accessKeyId"]} AWS_SECRET_ACCESS_KEY={account["admin"]["secretAccessKey"]}   # all rights

    clouds/run aws fill        # leaves a force-deleted Shoot in the region
    clouds/run aws left        # says what is there
    curl {ready["control"]}/accounts/{account["account"]}/calls
"""


if __name__ == "__main__":
    main()
