//! A copy of a SQLite ledger that is in use.

use super::{super::super::DatabaseState, LedgerError, said};
use rusqlite::{Connection, backup::Backup};
use std::{fs, io, path::Path, time::Duration};

/// Pages at a time. The writer waits for that long only, and a write in between makes the copy begin again.
const PAGES: i32 = 4096;

/// Between two pieces.
const PAUSE: Duration = Duration::from_millis(1);

/// Copies everything that is committed into a file that must not be there yet, writes it to the disk and checks it.
pub(super) fn copy(from: &Connection, file: &Path, doing: &'static str) -> Result<(), LedgerError> {
    // Nobody else can make the file in between, and nobody else may read it: tenants are named in it.
    let mut options = fs::File::options();
    std::os::unix::fs::OpenOptionsExt::mode(options.write(true).create_new(true), 0o600);
    options.open(file).map_err(|error| cannot(doing, file, &error))?;
    let copied = fill(from, file, doing);
    if copied.is_err()
        && let Err(error) = fs::remove_file(file)
    {
        tracing::warn!(%error, file = %file.display(), "cannot remove a backup that failed");
    }
    copied
}

/// Copies everything that is committed in the place of what is in another database.
pub(super) fn overwrite(
    from: &Connection,
    to: &mut Connection,
    doing: &'static str,
) -> Result<(), LedgerError> {
    Backup::new(from, to)
        .and_then(|backup| backup.run_to_completion(PAGES, Duration::ZERO, None))
        .map_err(|error| said(doing, &error))
}

fn fill(from: &Connection, file: &Path, doing: &'static str) -> Result<(), LedgerError> {
    let sqlite = |error: rusqlite::Error| said(doing, &error);
    let mut to = Connection::open(file).map_err(sqlite)?;
    Backup::new(from, &mut to)
        .and_then(|backup| backup.run_to_completion(PAGES, PAUSE, None))
        .map_err(sqlite)?;
    // One file, without a log beside it that could be forgotten when it is put back.
    to.pragma_update(None, "journal_mode", "DELETE").map_err(sqlite)?;
    let verdict: String = to.query_row("PRAGMA integrity_check", [], |row| row.get(0)).map_err(sqlite)?;
    if verdict != "ok" {
        let because = format!("the copy is damaged, and so may be the ledger: {verdict}");
        return Err(LedgerError::Broken { doing, because });
    }
    let version = to.query_row("SELECT version FROM ledger", [], |row| row.get::<_, i64>(0));
    version
        .map_err(|error| LedgerError::Broken { doing, because: format!("the copy is no ledger: {error}") })?;
    to.close().map_err(|(_, error)| sqlite(error))?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for path in [file, folder] {
        fs::File::open(path).and_then(|file| file.sync_all()).map_err(|error| cannot(doing, path, &error))?;
    }
    Ok(())
}

fn cannot(doing: &'static str, file: &Path, error: &io::Error) -> LedgerError {
    let because = match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{} is there already, and is not overwritten", file.display())
        }
        _ => format!("{}: {error}", file.display()),
    };
    if error.kind() == io::ErrorKind::StorageFull {
        return LedgerError::Database { doing, state: DatabaseState::DiskFull, because };
    }
    LedgerError::Backup(because)
}
