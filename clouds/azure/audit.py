"""Lists as JSON every kind that the pinned SDK can delete: {"kinds": ["microsoft.compute/disks", …], "tracked": […]}

`tracked` are those that are in a resource group and have a location: Resource Manager lists them all, whatever their type.
"""

from __future__ import annotations

import importlib
import json
import pathlib
import re

PACKAGES = [
    "azure.mgmt.authorization",
    "azure.mgmt.compute",
    "azure.mgmt.keyvault",
    "azure.mgmt.network",
    "azure.mgmt.resource.deployments",
    "azure.mgmt.resource.locks",
    "azure.mgmt.resource.policy",
    "azure.mgmt.resource.resources",
    "azure.mgmt.resource.subscriptions",
]
GROUP = "microsoft.resources/subscriptions/resourcegroups"
IN_GROUP = re.compile(r"/subscriptions/{\w+}/resourcegroups/{\w+}/providers/[\w.]+/\w+/{\w+}")


def files(package: str):
    """The sources of operations, of all versions of the API, and their models; those for asyncio have the same."""
    root = pathlib.Path(importlib.import_module(package).__path__[0])
    for path in sorted(root.rglob("operations/_*operations.py")):
        if "aio" not in path.parts:
            parts = path.relative_to(root).parts[:-2]
            yield path.read_text(), ".".join([package, *parts, "models"])


def urls(source: str) -> dict[str, str]:
    """The URL of each request that deletes or purges, by its builder."""
    found = {}
    for part in re.split(r"\n(?=def |class )", source):
        if not part.startswith("def build_"):
            continue
        name = part[4 : part.index("(")]
        url = re.search(r'_url = (?:kwargs\.pop\(\s*"template_url",\s*)?\(?\s*((?:"[^"]*"\s*)+)', part)
        if url and ('method="DELETE"' in part or "_purge" in name):
            found[name] = "".join(re.findall(r'"([^"]*)"', url.group(1)))
    return found


def kind_of(url: str) -> str | None:
    """The type in a URL, as permissions name it. None for one of any type."""
    path = url.lower().removesuffix("/purge").strip("/")
    if "/providers/" not in f"/{path}":
        if re.fullmatch(r"subscriptions/{\w+}/resourcegroups/{\w+}", path):
            return GROUP
        types = [segment for segment in path.split("/")[2:] if "{" not in segment]
        return f"microsoft.resources/subscriptions/{'/'.join(types)}" if types else None
    namespace, *rest = path.rsplit("providers/", 1)[1].split("/")
    types = [segment for segment in rest if "{" not in segment]
    return None if "{" in namespace or not types else f"{namespace}/{'/'.join(types)}"


def has_location(operations: str, models) -> bool:
    """Whether the document of a kind has a location."""
    get = re.search(r"    def get\((?:.|\n)*?\) -> (?:Optional\[)?(?:\w+\.)*(\w+)\]?:", operations)
    model = getattr(models, get.group(1), None) if get else None
    bases = getattr(model, "__mro__", ())
    known = [{**vars(base), **getattr(base, "__annotations__", {})} for base in bases]
    return any("location" in fields or "location" in fields.get("_attribute_map", {}) for fields in known)


def main() -> None:
    kinds, tracked = set(), set()
    for package in PACKAGES:
        for source, models in files(package):
            found = urls(source)
            kinds |= {kind for kind in map(kind_of, found.values()) if kind}
            in_groups = {name: url for name, url in found.items() if IN_GROUP.fullmatch(url.lower())}
            if not in_groups:
                continue
            documents = importlib.import_module(models)
            for operations in re.split(r"\n(?=class )", source):
                for name in set(re.findall(r"\bbuild_\w+(?=\()", operations)) & in_groups.keys():
                    if operations.startswith("class ") and has_location(operations, documents):
                        tracked.add(kind_of(in_groups[name]))
    print(json.dumps({"kinds": sorted(kinds), "tracked": sorted(kind for kind in tracked if kind)}))


if __name__ == "__main__":
    main()
