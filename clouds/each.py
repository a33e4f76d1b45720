"""Runs a script of a cloud for several accounts in one process, since its SDK takes seconds to import: each CLOUD fill|left

EACH is a list as JSON, with the environment and the arguments of each account. Prints the list of what the script printed.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
from pathlib import Path


def forget(folder: Path) -> None:
    """The scripts of a cloud hold clients of the account before."""
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if path and Path(path).resolve().parent == folder:
            del sys.modules[name]


def main() -> None:
    cloud, script = sys.argv[1:]
    folder = Path(__file__).resolve().parent / cloud
    sys.path.insert(0, str(folder))
    printed = []
    for account in json.loads(os.environ["EACH"]):
        forget(folder)
        os.environ.update(account["environment"])
        sys.argv = [script, *account["arguments"]]
        with contextlib.redirect_stdout(io.StringIO()) as output:
            importlib.import_module(script).main()
        printed.append(json.loads(output.getvalue()))
    print(json.dumps(printed))


if __name__ == "__main__":
    main()
