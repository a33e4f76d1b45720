"""MariaDB, RabbitMQ and the services of OpenStack, in the order in which they need each other."""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from config import Ports, transport
from processes import Processes

# name: module with the WSGI application, arguments
APIS = {
    "keystone": ("keystone.wsgi.api", ()),
    "placement": ("placement.wsgi.api", ()),
    "glance": ("glance.wsgi.api", ()),
    "neutron": ("neutron.wsgi.api", ()),
    "nova": ("nova.wsgi.osapi_compute", ()),
    "cinder": ("cinder.wsgi.api", ("--config-file", "{etc}/cinder.conf")),
    "octavia": ("octavia.wsgi.api", ("--config-file", "{etc}/octavia.conf")),
}
WORKERS = {
    "nova-conductor": "nova.conf",
    "nova-scheduler": "nova.conf",
    "nova-compute": "nova.conf",
    "cinder-scheduler": "cinder.conf",
    "cinder-volume": "cinder.conf",
    "octavia-worker": "octavia.conf",
}
# The data lives as long as a test: nothing has to survive a power cut.
NO_SYNC = ("--innodb-flush-method=nosync", "--innodb-doublewrite=0", "--sync-frm=0")
# On a machine with two cores a start of everything takes a minute, and on one that builds something else at a higher priority twenty.
PATIENCE_SECONDS = 1800


def environment(state: Path, venv: Path) -> dict[str, str]:
    etc = str(state / "etc")
    return {
        "OS_NOVA_DISABLE_EVENTLET_PATCHING": "true",
        "OS_KEYSTONE_CONFIG_DIR": etc,
        "OS_KEYSTONE_CONFIG_FILES": "keystone.conf",
        "OS_NEUTRON_CONFIG_DIR": etc,
        "OS_NEUTRON_CONFIG_FILES": "neutron.conf",
        "OS_NOVA_CONFIG_DIR": etc,
        "OS_NOVA_CONFIG_FILES": "api-paste.ini;nova.conf",
        "OS_GLANCE_CONFIG_DIR": etc,
        "OS_PLACEMENT_CONFIG_DIR": etc,
        "PATH": f"{venv}/bin:{os.environ['PATH']}",
        "PYTHONWARNINGS": "ignore",
    }


class Stack:
    def __init__(self, state: Path, venv: Path, ports: Ports, processes: Processes):
        self.state, self.venv, self.ports, self.processes = state, venv, ports, processes
        self.environment = environment(state, venv)

    def sql(self, text: str, database: str = "") -> str:
        command = ["mariadb", "--no-defaults", "-uroot", "-S", str(self.state / "mysql.sock"), "-N", "-B", database, "-e", text]
        return subprocess.run([c for c in command if c], check=True, capture_output=True, text=True).stdout

    def start_database(self) -> None:
        own = ["--user=root"] if os.geteuid() == 0 else []
        data = self.state / "mysql"
        if not data.exists():
            data.mkdir()
            with open(self.state / "log" / "mysql-install.log", "wb") as log:
                subprocess.run(
                    [
                        "mariadb-install-db",
                        "--no-defaults",
                        *own,
                        f"--datadir={data}",
                        "--auth-root-authentication-method=normal",
                    ],
                    check=True,
                    stdout=log,
                    stderr=log,
                )
        self.processes.start(
            "mariadb",
            [
                "mariadbd",
                "--no-defaults",
                *own,
                f"--datadir={data}",
                f"--socket={self.state}/mysql.sock",
                f"--pid-file={self.state}/mysql.pid",
                "--skip-networking",
                "--max-connections=500",
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-buffer-pool-size=128M",
                "--innodb-log-file-size=16M",
                *NO_SYNC,
            ],
        )
        self.processes.wait_until("MariaDB", lambda: self.sql("select 1"), PATIENCE_SECONDS)

    def start_rabbit(self) -> None:
        """On loopback with all it opens: the port for clients, the one between nodes, and the one of epmd."""
        state, ports = self.state, self.ports
        self.processes.start("epmd", ["epmd", "-address", "127.0.0.1", "-port", str(ports.epmd)])
        (state / "enabled_plugins").write_text("[].\n")
        (state / "rabbitmq.conf").write_text("loopback_users.guest = true\n")
        self.processes.start(
            "rabbitmq",
            ["/usr/lib/rabbitmq/bin/rabbitmq-server"],
            {
                "HOME": str(state),
                "ERL_EPMD_ADDRESS": "127.0.0.1",
                "ERL_EPMD_PORT": str(ports.epmd),
                "RABBITMQ_NODENAME": "lab@localhost",
                "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
                "RABBITMQ_NODE_PORT": str(ports.rabbit),
                "RABBITMQ_DIST_PORT": str(ports.rabbit_distribution),
                "RABBITMQ_CONF_ENV_FILE": "/dev/null",
                "RABBITMQ_CONFIG_FILE": str(state / "rabbitmq.conf"),
                "RABBITMQ_ENABLED_PLUGINS_FILE": str(state / "enabled_plugins"),
                "RABBITMQ_MNESIA_BASE": str(state / "rabbit"),
                "RABBITMQ_LOG_BASE": str(state / "log"),
                "RABBITMQ_PID_FILE": str(state / "rabbit.pid"),
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +A 4 -kernel inet_dist_use_interface {127,0,0,1}",
            },
        )

    def rabbit_answers(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.ports.rabbit), timeout=2) as connection:
            connection.sendall(b"AMQP\x00\x00\x09\x01")
            return bool(connection.recv(1))

    def manage(self, *command: str) -> None:
        """One of the services' own tools."""
        name = "-".join(part for part in command[:4] if not part.startswith(("-", "/")))
        with open(self.state / "log" / f"manage-{name}.log", "ab") as log:
            subprocess.run(
                [f"{self.venv}/bin/{command[0]}", *command[1:]],
                check=True,
                stdout=log,
                stderr=log,
                env=os.environ | self.environment,
            )

    def start_api(self, name: str) -> None:
        module, arguments = APIS[name]
        port = str(getattr(self.ports, name))
        serve = str(Path(__file__).parent / "serve.py")
        filled = [a.format(etc=self.state / "etc") for a in arguments]
        self.processes.start(name, [f"{self.venv}/bin/python", serve, name, module, port, *filled], self.environment)

    def start_worker(self, name: str) -> None:
        config = str(self.state / "etc" / WORKERS[name])
        self.processes.start(name, [f"{self.venv}/bin/{name}", "--config-file", config], self.environment)

    def answers(self, name: str) -> bool:
        """Any answer will do but one of a server that cannot work."""
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{getattr(self.ports, name)}/", timeout=5).close()
        except urllib.error.HTTPError as answer:
            return answer.code < 500
        except urllib.error.URLError:
            return False
        return True

    def move(self, prepared: dict) -> None:
        """The databases know the ports and the folder that they were made with."""
        for name, port in prepared["ports"].items():
            self.sql(f"update endpoint set url = replace(url, ':{port}', ':{getattr(self.ports, name)}')", "keystone")
        folder = f"database_connection = replace(database_connection, '{prepared['state']}', '{self.state}')"
        self.sql(f"update cell_mappings set {folder}", "nova_api")
        self.sql(
            f"update cell_mappings set transport_url = '{transport(self.ports)}' where transport_url like 'rabbit%'", "nova_api"
        )

    def forget_compute_node(self) -> None:
        """The fake driver has a new identity in every process, and nova-compute does not start as another than it was."""
        self.sql("delete from services where `binary` = 'nova-compute'; delete from compute_nodes", "nova_cell1")
        tables = ("allocations", "inventories", "resource_provider_traits", "resource_provider_aggregates", "resource_providers")
        self.sql("set foreign_key_checks = 0; " + "; ".join(f"delete from {table}" for table in tables), "placement")

    def start_all(self) -> None:
        """Everything but MariaDB. Two cores: starting all at once is as quick as one after the other, and simpler."""
        began = self.sql("select utc_timestamp()").strip()
        self.start_rabbit()
        for name in APIS:
            self.start_api(name)
        self.processes.wait_until("RabbitMQ", self.rabbit_answers, PATIENCE_SECONDS)
        for name in WORKERS:
            self.start_worker(name)
        for name in APIS:
            self.processes.wait_until(name, lambda name=name: self.answers(name), PATIENCE_SECONDS)
        self.processes.wait_until(
            "nova's workers", lambda: self.count("nova_cell1", "last_seen_up", began) >= 3, PATIENCE_SECONDS
        )
        self.processes.wait_until("cinder's workers", lambda: self.count("cinder", "updated_at", began) >= 2, PATIENCE_SECONDS)
        # A message to a queue that nobody has declared is lost, and the load balancer would stay PENDING_CREATE.
        self.processes.wait_until("octavia's worker", self.worker_listens, PATIENCE_SECONDS)

    def count(self, database: str, column: str, since: str) -> int:
        return int(self.sql(f"select count(*) from services where {column} >= '{since}' and deleted = 0", database))

    def worker_listens(self) -> bool:
        return "Starting V2 consumer" in (self.state / "log" / "octavia-worker.log").read_text(errors="replace")


def user() -> str:
    return getpass.getuser()


def cpu_seconds(processes: Processes) -> float:
    """What the servers have used so far, with their children."""
    tick = os.sysconf("SC_CLK_TCK")
    groups = {process.pid for process in processes.running.values()}
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) in groups:
            total += (int(fields[11]) + int(fields[12])) / tick
    return total
