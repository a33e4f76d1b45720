"""What the smoke tests of both clouds share: a server that is started and stopped, and a table of proofs."""

from __future__ import annotations

import json
import subprocess
import urllib.request


class Server:
    """A program of ours that says in one line of JSON when it is ready, and stops with its standard input."""

    def __init__(self, command: list[str]):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{command[1]} did not start: exit code {self.process.wait()}")
        self.ready = json.loads(line)

    def control(self, method: str, path: str, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self.ready['control']}/{path}", data=data, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def stop(self, seconds: float = 10) -> int:
        self.process.stdin.close()
        return self.process.wait(timeout=seconds)


class Table:
    def __init__(self):
        self.passed = self.failed = 0

    def row(self, act: str, wanted, seen) -> None:
        good = wanted == seen
        self.passed += good
        self.failed += not good
        print(f"  {'ok  ' if good else 'FAIL'}  {act:<66} {seen if good else f'wanted {wanted}, saw {seen}'}", flush=True)

    def summary(self) -> int:
        """The last line, and the exit code."""
        print(f"\n{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0

    def section(self, title: str) -> None:
        print(f"\n{title}", flush=True)
