//! A PostgreSQL server for tests: in a folder of its own, reached by a socket in it, gone with the process.

use std::{
    error::Error,
    fmt, fs,
    os::unix::{fs::chown, process::CommandExt},
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

/// The server and whatever it writes end with their standard input, and that ends with this process, however it ends.
const UNTIL_STDIN_ENDS: &str = r#""$@" & server=$!; cat; kill -QUIT "$server"; wait "$server""#;

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    folder: TempDir,
    server: Child,
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

impl Postgres {
    /// Starts a server that forgets everything. The error is [`NoPostgres`] if there is none to start.
    pub fn start() -> Result<Self, Fault> {
        let programs = programs().ok_or(NoPostgres)?;
        let folder = tempfile::Builder::new().prefix("allotment-pg-").tempdir()?;
        let data = folder.path().join("data");
        let whose = Whose::of(folder.path())?;
        let mut initdb = whose.command(&programs.join("initdb"));
        initdb.arg("-D").arg(&data).args(["-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync"]);
        succeed(&mut initdb)?;

        let mut shell = whose.command(Path::new("sh"));
        shell.args(["-c", UNTIL_STDIN_ENDS, "sh"]).arg(programs.join("postgres"));
        shell.arg("-D").arg(&data).arg("-k").arg(folder.path());
        for setting in ["listen_addresses=", "fsync=off", "full_page_writes=off", "max_connections=200"] {
            shell.args(["-c", setting]);
        }
        let log = fs::File::create(folder.path().join("log"))?;
        let server = shell.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log).spawn()?;
        let postgres = Self { programs, folder, server, databases: AtomicU32::new(0) };
        postgres.wait_until_ready()?;
        Ok(postgres)
    }

    /// Makes an empty database, and says its URL.
    pub fn database(&self) -> Result<String, Fault> {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        succeed(self.client("createdb").arg(&name))?;
        let host = self.folder.path().to_string_lossy().replace('/', "%2F");
        Ok(format!("postgres://{USER}@{host}/{name}"))
    }

    /// A client program that knows this server.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.env("PGHOST", self.folder.path()).env("PGUSER", USER).env("PGDATABASE", "postgres");
        command
    }

    fn wait_until_ready(&self) -> Result<(), Fault> {
        let begun = Instant::now();
        while !self.client("pg_isready").stdout(Stdio::null()).status()?.success() {
            if begun.elapsed() > PATIENCE {
                let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                return Err(format!("PostgreSQL did not start within {PATIENCE:?}: {log}").into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        let _ = self.server.wait();
    }
}

/// The user that the server runs as: PostgreSQL does not run as root.
struct Whose(Option<(u32, u32)>);

impl Whose {
    /// Whoever owns the folder, or if that is root, somebody to whom it is given.
    fn of(folder: &Path) -> Result<Self, Fault> {
        if std::os::unix::fs::MetadataExt::uid(&fs::metadata(folder)?) != 0 {
            return Ok(Self(None));
        }
        let users = fs::read_to_string("/etc/passwd")?;
        let (uid, gid) = ["postgres", "nobody"]
            .iter()
            .find_map(|name| ids(&users, name))
            .ok_or("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as")?;
        chown(folder, Some(uid), Some(gid))?;
        Ok(Self(Some((uid, gid))))
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir("/");
        if let Self(Some((uid, gid))) = self {
            command.uid(*uid).gid(*gid);
        }
        command
    }
}

fn ids(users: &str, name: &str) -> Option<(u32, u32)> {
    let fields: Vec<&str> = users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.first() == Some(&name)).then_some(fields)
    })?;
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

fn programs() -> Option<PathBuf> {
    let in_path = std::env::var_os("PATH").into_iter().flat_map(|path| {
        std::env::split_paths(&path)
            .filter_map(|folder| folder.join("initdb").canonicalize().ok())
            .collect::<Vec<_>>()
    });
    let mut in_debian: Vec<(u32, PathBuf)> = fs::read_dir(DEBIAN)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin/initdb")))
        })
        .collect();
    in_debian.sort();
    in_path
        .chain(in_debian.into_iter().rev().map(|(_, initdb)| initdb))
        .find(|initdb| initdb.is_file())
        .and_then(|initdb| initdb.parent().map(Path::to_owned))
}

fn succeed(command: &mut Command) -> Result<(), Fault> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{} failed: {said}", command.get_program().to_string_lossy()).into())
}
