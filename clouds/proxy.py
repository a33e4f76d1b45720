"""A proxy that does to requests what networks and overloaded clouds do. Needs nothing but Python; clouds/README.md has the contract.

It listens on one port for each --upstream, hands requests on with their own Host header, so that signatures stay valid, and replaces
the addresses of its upstreams in what they answer, so that a catalog or a link to the next page leads through it again.
"""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import json
import os
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

STARTED = time.monotonic()
FAULTS = ("status", "cutBefore", "cutAfter", "delay")


@dataclass
class Rule:
    """One fault, for requests that match every pattern."""

    do: str
    upstream: str = "*"
    method: str = "*"
    path: str = "*"  # with its query
    action: str = "*"  # of AWS: service:Operation
    contains: str = ""  # in the body
    status: int = 503
    body: str | None = None
    code: str | None = None
    retryAfter: float | None = None
    seconds: float = 0.0
    skip: int = 0
    every: int = 1
    times: int | None = None
    seen: int = field(default=0)
    done: int = field(default=0)

    def __post_init__(self):
        if self.do not in FAULTS:
            raise ValueError(f"do must be one of {', '.join(FAULTS)}")

    def applies(self, request: Request) -> bool:
        patterns = (
            (request.upstream, self.upstream),
            (request.method, self.method),
            (request.path, self.path),
            (request.action, self.action),
        )
        if (
            not all(fnmatch.fnmatchcase(value, pattern) for value, pattern in patterns)
            or self.contains.encode() not in request.body
        ):
            return False
        self.seen += 1
        due = self.seen > self.skip and (self.seen - self.skip) % self.every == 0
        if not due or (self.times is not None and self.done >= self.times):
            return False
        self.done += 1
        return True


@dataclass
class Request:
    upstream: str
    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        return next((v for k, v in self.headers if k.lower() == name), "")

    @property
    def service(self) -> str:
        """Of AWS, from the scope of the signature."""
        scope = self.header("authorization").partition("Credential=")[2].split(",")[0].split("/")
        return scope[3] if len(scope) > 3 else ""

    @property
    def action(self) -> str:
        if not self.service:
            return ""
        names = parse_qs(self.body.decode("utf-8", "replace")).get("Action") or parse_qs(urlsplit(self.path).query).get("Action")
        return f"{self.service}:{names[0] if names else self.method}"


def error_body(request: Request, status: int, code: str | None) -> tuple[bytes, str]:
    """A refusal in the words of the cloud that was asked."""
    if request.service == "ec2":
        code = code or {403: "UnauthorizedOperation", 429: "RequestLimitExceeded", 503: "Unavailable"}.get(
            status, "InternalError"
        )
        text = f"<Response><Errors><Error><Code>{code}</Code><Message>made by the proxy</Message></Error></Errors><RequestID>0</RequestID></Response>"
        return text.encode(), "text/xml"
    if request.service:
        code = code or {403: "AccessDenied", 429: "Throttling", 503: "ServiceUnavailable"}.get(status, "InternalFailure")
        text = f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>made by the proxy</Message></Error><RequestId>0</RequestId></ErrorResponse>"
        return text.encode(), "text/xml"
    title = {403: "forbidden", 429: "overLimit", 503: "serviceUnavailable"}.get(status, "computeFault")
    return json.dumps({code or title: {"code": status, "message": "made by the proxy"}}).encode(), "application/json"


class Cut(Exception):
    """The connection to the client ends here, without an answer."""


async def read_message(
    reader: asyncio.StreamReader, head_request: bool = False
) -> tuple[str, list[tuple[str, str]], bytes] | None:
    """First line, headers and body of a request or an answer; None at the end of a connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    headers = [(k.strip(), v.strip()) for k, _, v in (line.partition(":") for line in lines)]
    named = {k.lower(): v for k, v in headers}
    body = b""
    if "chunked" in named.get("transfer-encoding", ""):
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
    elif "content-length" in named:
        body = b"" if head_request else await reader.readexactly(int(named["content-length"]))
    elif first.startswith("HTTP/") and first.split()[1] not in ("204", "304") and not head_request:
        body = await reader.read()  # an answer that ends with its connection
    return first, headers, body


def write_message(
    writer: asyncio.StreamWriter, first: str, headers: list[tuple[str, str]], body: bytes, keep_length: bool = False
) -> None:
    drop = {"connection", "transfer-encoding", "keep-alive"} | (set() if keep_length else {"content-length"})
    lines = [first, *(f"{k}: {v}" for k, v in headers if k.lower() not in drop)]
    if not keep_length and not (first.startswith("HTTP/") and first.split()[1] in ("204", "304")):
        lines.append(f"Content-Length: {len(body)}")
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)


class Proxy:
    def __init__(self, upstreams: dict[str, str]):
        self.upstreams = upstreams
        self.listening: dict[str, str] = {}
        self.rules: list[Rule] = []
        self.requests: Counter = Counter()
        self.faults: Counter = Counter()

    def control(self, method: str, path: str, body: bytes):
        match method, path:
            case "POST", "/_proxy/rules":
                given = json.loads(body)
                self.rules += [Rule(**rule) for rule in (given if isinstance(given, list) else [given])]
            case "DELETE", "/_proxy/rules":
                self.rules.clear()
            case "GET", "/_proxy/rules":
                return [{"do": r.do, "path": r.path, "action": r.action, "seen": r.seen, "done": r.done} for r in self.rules]
            case "GET", "/_proxy/counts":
                return {
                    "requests": dict(sorted(self.requests.items())),
                    "total": sum(self.requests.values()),
                    "faults": dict(self.faults),
                }
            case "DELETE", "/_proxy/counts":
                self.requests.clear()
                self.faults.clear()
            case _:
                raise ValueError(f"no such control: {method} {path}")
        return {}

    async def serve(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while message := await read_message(reader):
                (method, path, _), headers, body = message[0].split(" ", 2), *message[1:]
                if path.startswith("/_proxy/"):
                    self.answer_control(writer, method, path, body)
                else:
                    await self.handle(Request(name, method, path, headers, body), writer)
                await writer.drain()
                if dict((k.lower(), v.lower()) for k, v in headers).get("connection") == "close":
                    break
        except (Cut, ConnectionError, asyncio.IncompleteReadError):
            # A reset, not an orderly end: the client cannot mistake it for a short answer.
            writer.transport.abort()
        finally:
            writer.close()

    def answer_control(self, writer: asyncio.StreamWriter, method: str, path: str, body: bytes) -> None:
        try:
            status, result = "200 OK", self.control(method, path, body)
        except (ValueError, TypeError) as wrong:
            status, result = "400 Bad Request", {"error": str(wrong)}
        write_message(writer, f"HTTP/1.1 {status}", [("Content-Type", "application/json")], json.dumps(result).encode())

    async def handle(self, request: Request, writer: asyncio.StreamWriter) -> None:
        self.requests[f"{request.upstream} {request.action or request.method}"] += 1
        cut_after = False
        for rule in self.rules:
            if not rule.applies(request):
                continue
            self.faults[rule.do if rule.do != "status" else str(rule.status)] += 1
            if rule.do == "delay":
                await asyncio.sleep(rule.seconds)
                continue
            if rule.do == "cutBefore":
                raise Cut
            if rule.do == "cutAfter":
                cut_after = True
                break
            body, kind = (
                (rule.body.encode(), "text/plain") if rule.body is not None else error_body(request, rule.status, rule.code)
            )
            extra = [("Retry-After", f"{rule.retryAfter:g}")] if rule.retryAfter is not None else []
            return write_message(writer, f"HTTP/1.1 {rule.status} Fault", [("Content-Type", kind), *extra], body)
        first, headers, body = await self.ask(request)
        if cut_after:
            raise Cut
        head = request.method == "HEAD"
        headers = [(k, self.redirect(v)) for k, v in headers]
        write_message(
            writer, first, headers, body if head else self.redirect(body.decode("latin-1")).encode("latin-1"), keep_length=head
        )

    async def ask(self, request: Request) -> tuple[str, list[tuple[str, str]], bytes]:
        """One connection for each request: a connection that the upstream has closed meanwhile is no fault of ours to show."""
        target = urlsplit(self.upstreams[request.upstream])
        reader, writer = await asyncio.open_connection(target.hostname, target.port)
        try:
            # Compressed answers could not be searched for addresses.
            headers = [(k, v) for k, v in request.headers if k.lower() != "accept-encoding"] + [("Connection", "close")]
            lines = [
                f"{request.method} {request.path} HTTP/1.1",
                *(f"{k}: {v}" for k, v in headers if k.lower() not in ("transfer-encoding", "content-length")),
            ]
            writer.write("\r\n".join([*lines, f"Content-Length: {len(request.body)}", "", ""]).encode("latin-1") + request.body)
            await writer.drain()
            answer = await read_message(reader, request.method == "HEAD")
            if answer is None:
                raise Cut
            return answer
        finally:
            writer.close()

    def redirect(self, text: str) -> str:
        for name, url in self.upstreams.items():
            text = text.replace(url, self.listening[name])
        return text


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clouds/proxy.py", description=__doc__)
    parser.add_argument(
        "--upstream",
        action="append",
        required=True,
        metavar="NAME=URL",
        help="may be repeated; NAME= may be left out if there is one",
    )
    parser.add_argument("--port", type=int, default=0, help="for the first upstream; 0, the default, takes a free one")
    parser.add_argument("--script", help="a JSON file with a list of rules")
    parser.add_argument("--watch-stdin", action="store_true", help="stop when the standard input ends")
    return parser.parse_args()


async def run(args: argparse.Namespace) -> None:
    named = [text.partition("=") if "=" in text.split("://")[0] else ("cloud", "", text) for text in args.upstream]
    proxy = Proxy({name: url.rstrip("/") for name, _, url in named})
    if args.script:
        with open(args.script) as script:
            proxy.rules = [Rule(**rule) for rule in json.load(script)]
    for number, name in enumerate(proxy.upstreams):
        server = await asyncio.start_server(
            lambda r, w, name=name: proxy.serve(name, r, w), "127.0.0.1", 0 if number else args.port, limit=1 << 24
        )
        proxy.listening[name] = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    first = next(iter(proxy.listening.values()))
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(sign, stopped.set)
    if args.watch_stdin:

        def watch() -> None:
            while sys.stdin.buffer.read(4096):
                pass
            loop.call_soon_threadsafe(stopped.set)

        loop.run_in_executor(None, watch)
    ready = {
        "cloud": "proxy",
        "pid": os.getpid(),
        "readySeconds": round(time.monotonic() - STARTED, 1),
        "endpoint": first,
        "endpoints": proxy.listening,
        "control": f"{first}/_proxy",
    }
    print(json.dumps(ready), flush=True)
    await stopped.wait()
    os._exit(0)  # open connections would keep the loop


if __name__ == "__main__":
    asyncio.run(run(arguments()))
