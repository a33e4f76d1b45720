"""Makes another project with nothing in it, as a tenant of Gardener has it: a user of its own, who is a member, and an application credential.

Prints it as JSON, as in `projects` of the line that clouds/up openstack prints.
"""

from __future__ import annotations

import json
import secrets

from account import connect

ROLES = ("member", "load-balancer_member")


def main() -> None:
    # Its user and password are called the same: `connect` needs to know no more than the name.
    name = f"acct-{secrets.token_hex(4)}"
    identity = connect("admin").identity
    domain = identity.find_domain("default").id
    project = identity.create_project(name=name, domain_id=domain)
    user = identity.create_user(name=name, password=name, domain_id=domain, default_project_id=project.id)
    for role in identity.roles():
        if role.name in ROLES:
            identity.assign_project_role_to_user(project, user, role)
    credential = connect(name).identity.create_application_credential(user.id, f"gardener-{name}")
    facts = {
        "name": name,
        "projectId": project.id,
        "userId": user.id,
        "domainName": "Default",
        "username": name,
        "password": name,
        "applicationCredentialId": credential.id,
        "applicationCredentialName": credential.name,
        "applicationCredentialSecret": credential.secret,
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
