"""The configuration of a whole OpenStack on loopback, with MariaDB on a socket and RabbitMQ on a port."""

from __future__ import annotations

import shutil
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

DATABASES = ("keystone", "neutron", "placement", "glance", "cinder", "nova_api", "nova_cell0", "nova_cell1", "octavia")
REGION = "R1"
# The host that computes and stores. It is in the database, so it cannot be the name of the machine.
HOST = "lab"
# Ten times the default: on a busy machine an answer that comes late is better than a server in ERROR.
RPC_SECONDS = 600


@dataclass
class Ports:
    keystone: int
    neutron: int
    placement: int
    glance: int
    cinder: int
    nova: int
    octavia: int
    rabbit: int
    rabbit_distribution: int
    epmd: int

    @staticmethod
    def free() -> Ports:
        """Ports that nobody listens on now. All are held until the last is known, so that no two are the same."""
        sockets = [socket.socket() for _ in Ports.__dataclass_fields__]
        try:
            for each in sockets:
                each.bind(("127.0.0.1", 0))
            return Ports(*(each.getsockname()[1] for each in sockets))
        finally:
            for each in sockets:
                each.close()

    def urls(self) -> dict[str, str]:
        """By the type that the catalog has for it."""
        at = lambda port, path="": f"http://127.0.0.1:{port}{path}"
        return {
            "identity": at(self.keystone, "/v3"),
            "network": at(self.neutron),
            "placement": at(self.placement),
            "image": at(self.glance),
            "block-storage": at(self.cinder, "/v3"),
            "compute": at(self.nova, "/v2.1"),
            "load-balancer": at(self.octavia),
        }

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


def database(state: Path, name: str) -> str:
    return f"mysql+pymysql://root@localhost/{name}?unix_socket={state}/mysql.sock"


def transport(ports: Ports) -> str:
    return f"rabbit://guest:guest@127.0.0.1:{ports.rabbit}/"


def service_user(ports: Ports) -> str:
    return f"""
auth_url = http://127.0.0.1:{ports.keystone}/v3
auth_type = password
project_domain_name = Default
user_domain_name = Default
project_name = service
username = svc
password = svc
region_name = {REGION}
"""


def common(state: Path, ports: Ports) -> str:
    return f"""
[keystone_authtoken]
www_authenticate_uri = http://127.0.0.1:{ports.keystone}/v3
{service_user(ports).replace("region_name", "service_token_roles_required = false" + chr(10) + "region_name")}
[oslo_concurrency]
lock_path = {state}/lock
[oslo_messaging_notifications]
driver = noop
[oslo_messaging_rabbit]
rabbit_quorum_queue = false
"""


def files(state: Path, venv: Path, ports: Ports) -> dict[str, str]:
    user, shared = service_user(ports), common(state, ports)
    return {
        "keystone.conf": f"""
[database]
connection = {database(state, "keystone")}
[token]
provider = fernet
[fernet_tokens]
key_repository = {state}/fernet
[fernet_receipts]
key_repository = {state}/receipts
[credential]
key_repository = {state}/credential
[cache]
enabled = true
backend = dogpile.cache.memory
expiration_time = 5
""",
        "neutron.conf": f"""
[DEFAULT]
core_plugin = ml2
service_plugins = router,segments,trunk
transport_url = {transport(ports)}
rpc_response_timeout = {RPC_SECONDS}
auth_strategy = keystone
api_paste_config = {venv}/etc/neutron/api-paste.ini
api_workers = 1
rpc_workers = 1
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
dhcp_agent_notification = false
[database]
connection = {database(state, "neutron")}
[ml2]
type_drivers = local,flat,vxlan
tenant_network_types = vxlan
mechanism_drivers = openvswitch
extension_drivers = port_security
[ml2_type_vxlan]
vni_ranges = 1:5000
[ml2_type_flat]
flat_networks = *
[nova]
{user}
[placement]
{user}
{shared}""",
        "placement.conf": f"""
[api]
auth_strategy = keystone
[placement_database]
connection = {database(state, "placement")}
{shared}""",
        "glance-api.conf": f"""
[DEFAULT]
enabled_backends = fs:file
[database]
connection = {database(state, "glance")}
[paste_deploy]
flavor = keystone
config_file = {venv}/etc/glance/glance-api-paste.ini
[glance_store]
default_backend = fs
[fs]
filesystem_store_datadir = {state}/glance-images
[os_glance_tasks_store]
filesystem_store_datadir = {state}/glance-tasks
[os_glance_staging_store]
filesystem_store_datadir = {state}/glance-staging
{shared}""",
        "cinder.conf": f"""
[DEFAULT]
transport_url = {transport(ports)}
rpc_response_timeout = {RPC_SECONDS}
auth_strategy = keystone
api_paste_config = {venv}/etc/cinder/api-paste.ini
enabled_backends = fake
default_volume_type = fake
state_path = {state}/cinder
glance_api_servers = http://127.0.0.1:{ports.glance}
my_ip = 127.0.0.1
host = {HOST}
service_down_time = 600
[fake]
volume_driver = cinder.tests.fake_driver.FakeLoggingVolumeDriver
volume_backend_name = fake
[database]
connection = {database(state, "cinder")}
[nova]
{user}
{shared}""",
        # The driver has two cores, which are enough for a dozen projects at once only if they are shared.
        "nova.conf": f"""
[DEFAULT]
cpu_allocation_ratio = 16
transport_url = {transport(ports)}
rpc_response_timeout = {RPC_SECONDS}
compute_driver = fake.SmallFakeDriver
state_path = {state}/nova
host = {HOST}
my_ip = 127.0.0.1
instances_path = {state}/nova/instances
vif_plugging_timeout = 0
vif_plugging_is_fatal = false
service_down_time = 600
[api]
auth_strategy = keystone
[wsgi]
api_paste_config = {venv}/etc/nova/api-paste.ini
[api_database]
connection = {database(state, "nova_api")}
[database]
connection = {database(state, "nova_cell1")}
[placement]
{user}
[neutron]
{user}
[glance]
{user}
[cinder]
{user}
os_region_name = {REGION}
[service_user]
send_service_user_token = true
{user}
[filter_scheduler]
track_instance_changes = false
[conductor]
workers = 1
[scheduler]
workers = 1
{shared}""",
        # The amphora provider with drivers that do nothing is ACTIVE within seconds; noop_driver stays PENDING_CREATE for ever.
        "octavia.conf": f"""
[DEFAULT]
transport_url = {transport(ports)}
rpc_response_timeout = {RPC_SECONDS}
[api_settings]
bind_host = 127.0.0.1
bind_port = {ports.octavia}
auth_strategy = keystone
enabled_provider_drivers = amphora:noop-backed,noop_driver:stays-pending
default_provider_driver = amphora
[database]
connection = {database(state, "octavia")}
[service_auth]
{user}
[controller_worker]
workers = 1
network_driver = network_noop_driver
compute_driver = compute_noop_driver
amphora_driver = amphora_noop_driver
amp_image_tag = amphora
amp_flavor_id = 1
amp_boot_network_list = 00000000-0000-0000-0000-000000000001
loadbalancer_topology = SINGLE
client_ca = {state}/certs/ca.pem
[certificates]
cert_manager = noop_cert_manager
cert_generator = local_cert_generator
ca_certificate = {state}/certs/ca.pem
ca_private_key = {state}/certs/ca.key
ca_private_key_passphrase = lab
server_certs_key_passphrase = insecure-key-do-not-use-this-key
[health_manager]
heartbeat_key = lab
[oslo_messaging]
topic = octavia_prov
[neutron]
{user}
{shared}""",
    }


def write(state: Path, venv: Path, ports: Ports) -> None:
    for folder in ("etc", "log", "lock", "glance-images", "glance-tasks", "glance-staging", "cinder", "nova", "rabbit", "certs"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    for name, text in files(state, venv, ports).items():
        (state / "etc" / name).write_text(text)
    shutil.copy(venv / "etc" / "nova" / "api-paste.ini", state / "etc")  # nova looks for it beside its configuration
