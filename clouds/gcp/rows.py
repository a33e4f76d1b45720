"""Writes the rows of the client (list path, deletion paths) from the discovery document of Compute Engine.

clouds/run gcp rows            writes crates/clouds/src/gcp/rows/generated.rs
clouds/run gcp rows --print    prints {"revision": "…", "rust": "…"}, for the test that compares both
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from kinds import GLOBAL, PER_REGION, REGIONAL, document

TARGET = Path(__file__).resolve().parents[2] / "crates/clouds/src/gcp/rows/generated.rs"
PROJECT = "projects/{project}/"


def path(resources: dict, resource: str, method: str) -> str | None:
    found = resources[resource].get("methods", {}).get(method)
    if found is None:
        return None
    flat = found.get("flatPath", found["path"])
    if not flat.startswith(PROJECT):
        raise SystemExit(f"{resource}.{method} is not in a project: {flat}")
    return flat.removeprefix(PROJECT)


def deletion(flat: str) -> tuple[str, str]:
    """The scope of a deletion, and its path with the same placeholders for all kinds."""
    scope, rest = re.fullmatch(r"(global|zones/\{zone\}|regions/\{region\})/(.*)", flat).groups()
    rest = re.sub(r"\{\w+\}", "{name}", rest, count=1)
    if "{" in rest.replace("{name}", ""):
        raise SystemExit(f"{flat} is part of another item")
    scope = scope.split("/")[0]
    return scope, {"global": "global", "zones": "zones/{zone}", "regions": "regions/{region}"}[scope] + "/" + rest


def scoped_key(schemas: dict, resources: dict, resource: str) -> str:
    """The field with the items of one scope in an aggregated list."""
    answer = schemas[resources[resource]["methods"]["aggregatedList"]["response"]["$ref"]]
    scoped = schemas[answer["properties"]["items"]["additionalProperties"]["$ref"]]
    keys = [key for key in scoped["properties"] if key != "warning"]
    if len(keys) != 1:
        raise SystemExit(f"{resource}: {keys}")
    return keys[0]


def row(schemas: dict, resources: dict, kind: str, names: list[str], how: str) -> str:
    method = "aggregatedList" if how == "Aggregated" else "list"
    listing = path(resources, names[0], method)
    items = scoped_key(schemas, resources, names[0]) if how == "Aggregated" else "items"
    wanted = {"Global": {"global"}}.get(how, {"zones", "regions"})
    found = [deletion(flat) for name in names if (flat := path(resources, name, "delete"))]
    deletions = {scope: flat for scope, flat in found if scope in wanted}
    paths = ", ".join(f'"{deletions[scope]}"' for scope in ("zones", "regions", "global") if scope in deletions)
    return f'    Paths {{ kind: "{kind}", listed: Listed::{how}, list: "{listing}", items: "{items}", delete: &[{paths}] }},'


def rust() -> tuple[str, str]:
    found = document()
    schemas, resources = found["schemas"], found["resources"]
    groups = [(REGIONAL, "Aggregated"), (PER_REGION, "PerRegion"), (GLOBAL, "Global")]
    rows = [row(schemas, resources, kind, names, how) for kinds, how in groups for kind, names in kinds.items()]
    text = f"""//! Written by `clouds/run gcp rows` from the discovery document of Compute Engine; a test compares both.

use super::{{Listed, Paths}};

/// Revision {found["revision"]} of the API.
#[rustfmt::skip]
pub(in crate::gcp) static PATHS: &[Paths] = &[
"""
    return found["revision"], text + "\n".join(rows) + "\n];\n"


def main() -> None:
    revision, text = rust()
    if "--print" not in sys.argv[1:]:
        TARGET.parent.mkdir(parents=True, exist_ok=True)
        TARGET.write_text(text)
    print(json.dumps({"revision": revision, "rust": text}))


if __name__ == "__main__":
    main()
