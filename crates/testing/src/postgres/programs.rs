//! Where the server's programs are, and as whom they run.

use super::{DEBIAN, Fault};
use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, OpenOptionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The user that the server runs as: PostgreSQL does not run as root.
#[derive(Clone, Copy, Debug)]
pub(super) struct User(Option<(u32, u32)>);

impl User {
    /// Whoever owns the folder, or if that is root, somebody to whom it is given.
    pub(super) fn owning(folder: &Path) -> Result<Self, Fault> {
        if fs::metadata(folder)?.uid() != 0 {
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

    pub(super) fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir("/");
        if let Self(Some((uid, gid))) = self {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Writes a file that only this user can read.
    pub(super) fn write(self, path: &Path, content: &str) -> Result<(), Fault> {
        let mut options = fs::File::options();
        let mut file = options.create(true).write(true).truncate(true).mode(0o600).open(path)?;
        std::io::Write::write_all(&mut file, content.as_bytes())?;
        if let Self(Some((uid, gid))) = self {
            chown(path, Some(uid), Some(gid))?;
        }
        Ok(())
    }
}

fn ids(users: &str, name: &str) -> Option<(u32, u32)> {
    let fields: Vec<&str> = users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.first() == Some(&name)).then_some(fields)
    })?;
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

pub(super) fn programs() -> Option<PathBuf> {
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

/// Runs a command to its end, and returns what it printed.
pub(super) fn succeed(command: &mut Command) -> Result<String, Fault> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{} failed: {said}", command.get_program().to_string_lossy()).into())
}
