"""Lists everything that can be deleted in Compute Engine, and in IAM below a project, with the kind of our table that has it.

Prints {"revision": "…", "resources": {"disks": "Disk", "globalOperations": null}}; null: no kind has it.
"""

from __future__ import annotations

import json

from kinds import GLOBAL, PER_REGION, REGIONAL, document


def deletable(resources: dict, prefix: str = "") -> list[str]:
    found = []
    for name, resource in resources.items():
        if "delete" in resource.get("methods", {}):
            found.append(prefix + name)
        found += deletable(resource.get("resources", {}), f"{prefix}{name}.")
    return found


def main() -> None:
    compute, iam = document(), document("iam.v1")
    known = {name: kind for kinds in (REGIONAL, PER_REGION, GLOBAL) for kind, names in kinds.items() for name in names}
    # A resource that only lists for a kind of regions is deleted by the kind that is global.
    known |= {name: kind for kind, names in GLOBAL.items() for name in names}
    resources = {name: known.get(name) for name in deletable(compute["resources"])}
    for name in deletable(iam["resources"]):
        if name.startswith("projects."):
            resources[f"iam.{name}"] = "ServiceAccount" if name == "projects.serviceAccounts" else None
    print(json.dumps({"revision": compute["revision"], "resources": resources}))


if __name__ == "__main__":
    main()
