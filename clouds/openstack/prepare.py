"""Makes the data of an OpenStack once: databases, users, catalog, what the provider owns. clouds/install keeps it as an archive.

prepare.py VENV ARCHIVE
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import config
from config import DATABASES, HOST, REGION, Ports
from processes import Failed, Processes
from services import PATIENCE_SECONDS, Stack, cpu_seconds, user

PROJECTS = ("acct-a", "acct-b")


def sync(stack: Stack) -> None:
    state = stack.state
    for name in DATABASES:
        stack.sql(f"create database if not exists {name} character set utf8mb3")
    etc = state / "etc"
    keystone = ("keystone-manage", "--config-file", str(etc / "keystone.conf"))
    own = ("--keystone-user", user(), "--keystone-group", user())
    url = stack.ports.urls()["identity"]
    stack.manage(*keystone, "db_sync")
    stack.manage(*keystone, "fernet_setup", *own)
    stack.manage(*keystone, "credential_setup", *own)
    stack.manage(
        *keystone,
        "bootstrap",
        "--bootstrap-password",
        "admin",
        "--bootstrap-region-id",
        REGION,
        "--bootstrap-public-url",
        url,
        "--bootstrap-internal-url",
        url,
        "--bootstrap-admin-url",
        url,
    )
    stack.manage("neutron-db-manage", "--config-file", str(etc / "neutron.conf"), "upgrade", "heads")
    stack.manage("placement-manage", "--config-file", str(etc / "placement.conf"), "db", "sync")
    stack.manage("glance-manage", "--config-file", str(etc / "glance-api.conf"), "db_sync")
    stack.manage("cinder-manage", "--config-file", str(etc / "cinder.conf"), "db", "sync")
    nova = ("nova-manage", "--config-file", str(etc / "nova.conf"))
    stack.manage(*nova, "api_db", "sync")
    stack.manage(*nova, "cell_v2", "map_cell0", "--database_connection", config.database(state, "nova_cell0"))
    stack.manage(*nova, "db", "sync")
    stack.manage(*nova, "cell_v2", "create_cell", "--name=cell1")
    stack.manage("octavia-db-manage", "--config-file", str(etc / "octavia.conf"), "upgrade", "head")


def certificates(state: Path) -> None:
    """The authority that octavia signs its amphorae with; it insists on one."""
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-days",
            "36500",
            "-subj",
            "/CN=octavia",
            "-passout",
            "pass:lab",
            "-keyout",
            str(state / "certs" / "ca.key"),
            "-out",
            str(state / "certs" / "ca.pem"),
        ],
        check=True,
        capture_output=True,
    )


def agent(stack: Stack) -> None:
    """An Open vSwitch agent that only the database knows. Without one no port is bound, and servers go to ERROR."""
    settings = json.dumps(
        {
            "bridge_mappings": {"physnet1": "br-ex"},
            "tunnel_types": ["vxlan"],
            "tunneling_ip": "127.0.0.1",
            "devices": 0,
            "datapath_type": "system",
            "ovs_capabilities": {"datapath_types": ["system"], "iface_types": []},
            "extensions": [],
        }
    )
    stack.sql(
        "insert into agents (id, agent_type, `binary`, topic, host, admin_state_up, created_at, started_at, heartbeat_timestamp, "
        "configurations, `load`) values (uuid(), 'Open vSwitch agent', 'neutron-openvswitch-agent', 'N/A', "
        f"'{HOST}', 1, now(), now(), '2099-01-01', '{settings}', 0)",
        "neutron",
    )


def connect(ports: Ports, name: str, **more):
    import openstack

    auth = {"auth_url": ports.urls()["identity"], "username": name, "password": name, "project_name": name}
    return openstack.connect(
        auth=auth | {"user_domain_name": "Default", "project_domain_name": "Default"}, region_name=REGION, **more
    )


def catalog(ports: Ports) -> None:
    identity = connect(ports, "admin").identity
    domain = identity.find_domain("default").id
    service = identity.create_project(name="service", domain_id=domain)
    account = identity.create_user(name="svc", password="svc", domain_id=domain, default_project_id=service.id)
    roles = {role.name: role for role in identity.roles()}
    for name in ("service", "load-balancer_member"):
        roles[name] = roles.get(name) or identity.create_role(name=name)
    for name in ("admin", "service"):
        identity.assign_project_role_to_user(service, account, roles[name])
    urls = ports.urls()
    kinds = {kind: url for kind, url in urls.items() if kind != "identity"} | {
        "volumev3": urls["block-storage"] + "/%(project_id)s"
    }
    for kind, url in kinds.items():
        made = identity.create_service(type=kind, name=kind)
        for interface in ("public", "internal"):
            identity.create_endpoint(service_id=made.id, interface=interface, url=url, region_id=REGION)
    # Tenants as Gardener has them: one project and one user each, a member.
    for name in PROJECTS:
        project = identity.create_project(name=name, domain_id=domain)
        tenant = identity.create_user(name=name, password=name, domain_id=domain, default_project_id=project.id)
        for role in ("member", "load-balancer_member"):
            identity.assign_project_role_to_user(project, tenant, roles[role])


def provider(ports: Ports) -> None:
    """What belongs to the provider and is never a tenant's: external network, flavor, volume type, public image."""
    admin = connect(ports, "admin")
    external = admin.network.create_network(
        name="ext", is_router_external=True, provider_network_type="flat", provider_physical_network="physnet1"
    )
    admin.network.create_subnet(network_id=external.id, name="ext", ip_version=4, cidr="203.0.113.0/24", enable_dhcp=False)
    admin.compute.create_flavor(name="small", ram=256, vcpus=1, disk=1)
    admin.block_storage.create_type(name="fake")
    admin.image.create_image(
        "gardenlinux", container_format="bare", disk_format="raw", data=b"x" * 1024, visibility="public", validate_checksum=False
    )


def application_credentials(ports: Ports) -> list[dict]:
    made = []
    for name in PROJECTS:
        tenant = connect(ports, name)
        credential = tenant.identity.create_application_credential(tenant.current_user_id, f"gardener-{name}")
        made.append(
            {
                "name": name,
                "projectId": tenant.current_project_id,
                "userId": tenant.current_user_id,
                "domainName": "Default",
                "username": name,
                "password": name,
                "applicationCredentialId": credential.id,
                "applicationCredentialName": credential.name,
                "applicationCredentialSecret": credential.secret,
            }
        )
    return made


KEPT = ("mysql", "fernet", "receipts", "credential", "certs", "glance-images", "nova", "cinder", "prepared.json")


def pack(stack: Stack, archive: Path, projects: list[dict]) -> None:
    """MariaDB has ended, so that its files are consistent."""
    prepared = {"state": str(stack.state), "ports": stack.ports.as_dict(), "projects": projects}
    (stack.state / "prepared.json").write_text(json.dumps(prepared))
    partial = archive.with_suffix(".partial")
    kept = [name for name in KEPT if (stack.state / name).exists()]
    subprocess.run(["tar", "--zstd", "-cf", str(partial), "-C", str(stack.state), *kept], check=True)
    partial.rename(archive)


def databases(stack: Stack, checkpoint: Path) -> None:
    """The longest part; a start that fails afterwards goes on from here the next time."""
    if checkpoint.exists():
        subprocess.run(["tar", "--zstd", "-xf", str(checkpoint), "-C", str(stack.state)], check=True)
        stack.start_database()
        stack.move(json.loads((stack.state / "prepared.json").read_text()))
        return
    stack.start_database()
    sync(stack)
    certificates(stack.state)
    agent(stack)
    stack.processes.end("mariadb", 60)
    pack(stack, checkpoint, [])
    stack.start_database()


def populate(stack: Stack) -> list[dict]:
    stack.start_api("keystone")
    stack.processes.wait_until("keystone", lambda: stack.answers("keystone"), PATIENCE_SECONDS)
    catalog(stack.ports)
    stack.processes.end("keystone", 30)
    stack.start_all()
    stack.manage("nova-manage", "--config-file", str(stack.state / "etc" / "nova.conf"), "cell_v2", "discover_hosts")
    provider(stack.ports)
    return application_credentials(stack.ports)


def prepare(venv: Path, archive: Path) -> None:
    began = time.monotonic()
    say = lambda text: print(f"clouds/install: {text} ({time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True)
    state, ports = Path(tempfile.mkdtemp(prefix="allotment-os-", dir="/tmp")), Ports.free()
    config.write(state, venv, ports)
    processes = Processes(state, remove=True)
    stack = Stack(state, venv, ports, processes)
    checkpoint = archive.with_suffix(".databases")
    try:
        say("making the databases of OpenStack, once; this takes some minutes")
        databases(stack, checkpoint)
        say("databases are made; starting the services")
        projects = populate(stack)
        say(f"everything is there, {cpu_seconds(processes):.0f} s of CPU by the servers; writing the archive")
        for name in [name for name in processes.running if name != "mariadb"]:
            process = processes.running.pop(name)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        processes.end("mariadb", 60)
        pack(stack, archive, projects)
        checkpoint.unlink()
        say(f"done, {archive.stat().st_size / 1e6:.1f} MB")
    except BaseException:
        kept = Path(tempfile.mkdtemp(prefix="allotment-os-logs-"))
        shutil.copytree(state / "log", kept, dirs_exist_ok=True)
        print(f"clouds/install: the logs are in {kept}", file=sys.stderr)
        raise
    finally:
        processes.stop()


if __name__ == "__main__":
    try:
        prepare(Path(sys.argv[1]), Path(sys.argv[2]))
    except Failed as failed:
        sys.exit(f"clouds/install: {failed}")
