//! PostgreSQL servers for tests: each in a folder of its own, gone with the process.
//!
//! [`Postgres::start`] is one server behind a socket, [`PostgresSetup`] one that listens, speaks TLS and asks for passwords,
//! [`PostgresPair`] a primary with a standby that can be promoted.

mod pair;
mod programs;

pub use pair::{PostgresPair, Replication};

use programs::{User, programs, succeed};
use std::{
    error::Error,
    fmt, fs,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Where Debian has the server's programs; they are not in the path there.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The server's own user of the database.
const USER: &str = "allotment";

/// On a busy machine; else it takes about a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// The port in the name of the socket. Each server's socket is in a folder of its own.
const SOCKET_PORT: u16 = 5432;

/// The server and whatever it writes end with their standard input, and that ends with this process, however it ends.
const UNTIL_STDIN_ENDS: &str = r#""$@" & server=$!; cat; kill -QUIT "$server"; wait "$server""#;

/// A server. Dropping it stops it.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    folder: TempDir,
    user: User,
    settings: Vec<String>,
    port: u16,
    server: Option<Child>,
    databases: AtomicU32,
}

/// There is no server to try with.
#[derive(Clone, Copy, Debug)]
pub struct NoPostgres;

impl fmt::Display for NoPostgres {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PostgreSQL is not installed: there is no initdb in the path or in {DEBIAN}/*/bin")
    }
}

impl Error for NoPostgres {}

type Fault = Box<dyn Error + Send + Sync>;

/// A server that differs from [`Postgres::start`]'s.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// use allotment_testing::PostgresSetup;
///
/// let postgres = PostgresSetup::default()
///     .on_loopback()
///     .setting("password_encryption=scram-sha-256")
///     .access("host all all 127.0.0.1/32 scram-sha-256")
///     .start()?;
/// postgres.sql("CREATE ROLE reader LOGIN PASSWORD 'secret'")?;
/// let url = format!("postgres://reader:secret@127.0.0.1:{}/postgres", postgres.port());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct PostgresSetup {
    settings: Vec<String>,
    access: Vec<String>,
    files: Vec<(String, String)>,
    loopback: bool,
}

impl PostgresSetup {
    /// Adds a line of `postgresql.conf`, as in `ssl=on`.
    #[must_use]
    pub fn setting(mut self, setting: &str) -> Self {
        self.settings.push(setting.to_owned());
        self
    }

    /// Adds a line of `pg_hba.conf`. The superuser always comes in by the socket.
    #[must_use]
    pub fn access(mut self, line: &str) -> Self {
        self.access.push(line.to_owned());
        self
    }

    /// Puts a file into the data folder, which only the server can read.
    #[must_use]
    pub fn file(mut self, name: &str, content: &str) -> Self {
        self.files.push((name.to_owned(), content.to_owned()));
        self
    }

    /// Listens on a port of 127.0.0.1, too.
    #[must_use]
    pub fn on_loopback(mut self) -> Self {
        self.loopback = true;
        self
    }

    /// Starts it. The error is [`NoPostgres`] if there is none to start.
    pub fn start(self) -> Result<Postgres, Fault> {
        let Self { settings, access, files, loopback } = self;
        let mut postgres = Postgres::in_new_folder(settings)?;
        let mut initdb = postgres.as_server("initdb");
        initdb.arg("-D").arg(postgres.data());
        succeed(initdb.args(["-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync"]))?;
        for (name, content) in files {
            postgres.user.write(&postgres.data().join(name), &content)?;
        }
        if !access.is_empty() {
            let lines = format!("local all {USER} trust\n{}\n", access.join("\n"));
            postgres.user.write(&postgres.data().join("pg_hba.conf"), &lines)?;
        }
        if loopback {
            // Somebody else may take the port between here and the server's start: then that fails, and says so.
            postgres.port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
            postgres.settings.push(format!("port={}", postgres.port));
            postgres.settings.push("listen_addresses=127.0.0.1".to_owned());
        }
        postgres.restart()?;
        Ok(postgres)
    }
}

impl Postgres {
    /// Starts a server that forgets everything. The error is [`NoPostgres`] if there is none to start.
    pub fn start() -> Result<Self, Fault> {
        PostgresSetup::default().start()
    }

    fn in_new_folder(settings: Vec<String>) -> Result<Self, Fault> {
        let programs = programs().ok_or(NoPostgres)?;
        let folder = tempfile::Builder::new().prefix("allotment-pg-").tempdir()?;
        let user = User::owning(folder.path())?;
        let (port, databases) = (SOCKET_PORT, AtomicU32::new(0));
        Ok(Self { programs, folder, user, settings, port, server: None, databases })
    }

    /// Makes an empty database, and says its URL.
    pub fn database(&self) -> Result<String, Fault> {
        Ok(self.url(&self.new_database()?))
    }

    fn new_database(&self) -> Result<String, Fault> {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        succeed(self.client("createdb").arg(&name))?;
        Ok(name)
    }

    /// The URL of a database, by the socket, as the superuser.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@{}:{}/{database}", self.host(), self.port)
    }

    /// The folder of the socket, as a URL has it.
    fn host(&self) -> String {
        self.folder.path().to_string_lossy().replace('/', "%2F")
    }

    /// The port: of the socket's name, and of 127.0.0.1 if the server listens there.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of everything that the server keeps. Others may read or replace it while the server is stopped.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A client program that knows this server.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.env("PGHOST", self.folder.path()).env("PGUSER", USER).env("PGDATABASE", "postgres");
        command.env("PGPORT", self.port.to_string());
        command
    }

    /// Runs statements as the superuser, each in a transaction of its own, and returns what they print.
    pub fn sql(&self, statements: &str) -> Result<String, Fault> {
        self.sql_in("postgres", statements)
    }

    /// The same in another database.
    pub fn sql_in(&self, database: &str, statements: &str) -> Result<String, Fault> {
        let mut psql = self.client("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database]);
        for statement in statements.split(';').filter(|statement| !statement.trim().is_empty()) {
            psql.args(["-c", statement]);
        }
        Ok(succeed(&mut psql)?.trim().to_owned())
    }

    /// Stops the server as a power cut does: nothing is finished, nothing is said to its clients.
    pub fn crash(&mut self) {
        if let Some(mut server) = self.server.take() {
            drop(server.stdin.take());
            let _ = server.wait();
        }
    }

    /// Starts the server (again, after [`Postgres::crash`]) and waits until it answers.
    pub fn restart(&mut self) -> Result<(), Fault> {
        self.spawn()?;
        self.wait_until_ready()
    }

    /// Starts the server, and does not wait.
    pub fn spawn(&mut self) -> Result<(), Fault> {
        self.crash();
        let mut shell = self.as_server("sh");
        shell.args(["-c", UNTIL_STDIN_ENDS, "sh"]).arg(self.programs.join("postgres"));
        shell.arg("-D").arg(self.data()).arg("-k").arg(self.folder.path());
        let usual = ["listen_addresses=", "fsync=off", "full_page_writes=off", "max_connections=200"];
        for setting in usual.into_iter().chain(self.settings.iter().map(String::as_str)) {
            shell.args(["-c", setting]);
        }
        let log = fs::File::options().create(true).append(true).open(self.log())?;
        self.server = Some(shell.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log).spawn()?);
        Ok(())
    }

    /// What the server wrote down about itself.
    pub fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// A program that runs as the server's user.
    fn as_server(&self, program: &str) -> Command {
        let path = self.programs.join(program);
        self.user.command(if path.exists() { &path } else { Path::new(program) })
    }

    fn wait_until_ready(&self) -> Result<(), Fault> {
        self.wait_for("start", || Ok(self.client("pg_isready").stdout(Stdio::null()).status()?.success()))
    }

    fn wait_for(&self, what: &str, done: impl Fn() -> Result<bool, Fault>) -> Result<(), Fault> {
        let begun = Instant::now();
        while !done()? {
            if begun.elapsed() > PATIENCE {
                let log = fs::read_to_string(self.log()).unwrap_or_default();
                return Err(format!("PostgreSQL did not {what} within {PATIENCE:?}: {log}").into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.crash();
    }
}
