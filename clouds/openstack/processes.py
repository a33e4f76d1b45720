"""Servers that this program starts, and that end with it, however that comes about."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

# Holds the end of a pipe. When this program is gone, the pipe ends, and what it had started is killed by process group.
WATCHER = """
import os, shutil, signal, sys
os.read(0, 1)
for line in open(sys.argv[1]):
    try: os.killpg(int(line), signal.SIGKILL)
    except (ProcessLookupError, ValueError): pass
if sys.argv[2]: shutil.rmtree(sys.argv[2], ignore_errors=True)
"""


class Failed(Exception):
    """Something did not start; the text is for a person."""


class Processes:
    def __init__(self, state: Path, remove: bool):
        self.state, self.running = state, {}
        self.groups = state / "groups"
        self.groups.touch()
        read, self.pipe = os.pipe()
        self.watcher = subprocess.Popen(
            [sys.executable, "-c", WATCHER, str(self.groups), str(state) if remove else ""], stdin=read, start_new_session=True
        )
        os.close(read)

    def start(self, name: str, command: list[str], environment: dict[str, str] | None = None) -> subprocess.Popen:
        with open(self.state / "log" / f"{name}.log", "wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.state,
                env=os.environ | (environment or {}),
            )
        with open(self.groups, "a") as groups:
            groups.write(f"{process.pid}\n")
        self.running[name] = process
        return process

    def dead(self) -> str | None:
        return next((name for name, process in self.running.items() if process.poll() is not None), None)

    def log_tail(self, name: str) -> str:
        lines = (self.state / "log" / f"{name}.log").read_text(errors="replace").splitlines()
        return "\n".join(lines[-15:])

    def wait_until(self, what: str, check, seconds: float) -> None:
        until = time.monotonic() + seconds
        while True:
            try:
                if check():
                    return
            except (OSError, subprocess.SubprocessError):
                pass
            if name := self.dead():
                raise Failed(f"{name} ended with {self.running[name].returncode}:\n{self.log_tail(name)}")
            if time.monotonic() > until:
                raise Failed(f"{what} is not ready after {seconds:.0f} seconds; logs are in {self.state}/log")
            time.sleep(0.5)

    def end(self, name: str, seconds: float) -> None:
        """An orderly end, for what has to write its data."""
        process = self.running.pop(name)
        process.terminate()
        process.wait(timeout=seconds)

    def stop(self) -> None:
        """At once: the data is thrown away with the folder. The watcher does it, as it would after a SIGKILL."""
        os.close(self.pipe)
        self.watcher.wait()
        for process in self.running.values():
            process.wait()
        self.running.clear()
