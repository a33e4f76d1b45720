//! The files of a folder: a snapshot, the log of what happened since, and who has it open.
//!
//! `snapshot-N` and `log-N` belong together. A new snapshot is complete before it has its name, and the old pair goes when
//! the new one is there: whatever moment the process ends at, one pair is whole.

use super::{
    StateError,
    entry::{BEGINNING, Chain, Entry, Unreadable},
};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// A log is shorter than this, or than twice its snapshot, before a new snapshot is worth while.
const SHORT_LOG_BYTES: u64 = 4 * 1024 * 1024;

/// What is being written, and not whole yet.
const PART: &str = "snapshot.part";

/// The files of one server.
pub(super) struct Files {
    folder: PathBuf,
    /// Which pair.
    number: u64,
    pair: Pair,
    /// How much of the log is known to be whole.
    length: u64,
    /// Whether there may be more in the log than that.
    is_torn: bool,
    chain: Chain,
    /// Nobody else writes here as long as this is open.
    _lock: File,
    #[cfg(test)]
    pub(super) room: Option<u64>,
}

impl Files {
    /// Opens a folder: what is in it, or nothing if it is new, and then it begins with these objects.
    pub(super) fn open(
        folder: &Path,
        beginning: impl FnOnce() -> Vec<Entry>,
    ) -> Result<(Self, Option<Vec<Entry>>), StateError> {
        let made = fs::DirBuilder::new().mode(0o700).recursive(true).create(folder);
        made.map_err(|source| failed("make", folder, source))?;
        let lock = lock(folder)?;
        let found = newest(folder)?;
        let (number, pair) = match found {
            Some(number) => {
                (number, Pair { log: open(&path(folder, "log", number), false)?, snapshot_bytes: 0 })
            }
            None => (1, Pair::write(folder, 1, &beginning())?),
        };
        let mut this = Self {
            folder: folder.to_owned(),
            number,
            pair,
            length: BEGINNING.len() as u64,
            is_torn: false,
            chain: Chain::default(),
            _lock: lock,
            #[cfg(test)]
            room: None,
        };
        let entries = found.map(|_| this.read()).transpose()?;
        this.forget_others();
        Ok((this, entries))
    }

    /// Everything that is remembered, in order. What was cut off at the end of the log is taken away.
    pub(super) fn read(&mut self) -> Result<Vec<Entry>, StateError> {
        let snapshot = path(&self.folder, "snapshot", self.number);
        let bytes = fs::read(&snapshot).map_err(|source| failed("read", &snapshot, source))?;
        self.pair.snapshot_bytes = bytes.len() as u64;
        let (mut entries, _) = entries_of(&snapshot, &bytes, false)?;
        match entries.pop() {
            Some(Entry::Complete { count, .. }) if count == entries.len() as u64 => {}
            _ => return Err(damaged(&snapshot, bytes.len(), "it ends without saying that it is complete")),
        }
        let log = path(&self.folder, "log", self.number);
        let mut bytes = Vec::new();
        let read = self.pair.log.seek(SeekFrom::Start(0)).and_then(|_| self.pair.log.read_to_end(&mut bytes));
        read.map_err(|source| failed("read", &log, source))?;
        let (logged, whole) = entries_of(&log, &bytes, true)?;
        (self.length, self.chain) = (whole.length, whole.chain);
        self.is_torn = true;
        self.mend()?;
        entries.extend(logged);
        Ok(entries)
    }

    /// Writes entries to the log; they are on the disk when this is done. If it fails, none of them is there.
    pub(super) fn append(&mut self, entries: &[Entry]) -> Result<(), StateError> {
        self.mend()?;
        let mut chain = self.chain.clone();
        let mut bytes = Vec::new();
        for entry in entries {
            entry.write(&mut chain, &mut bytes);
        }
        self.is_torn = true;
        if let Err(source) = self.write(&bytes).and_then(|()| self.pair.log.sync_data()) {
            // What is left of it is cut off now, or before the next write.
            let _ = self.mend();
            return Err(failed("write to", &path(&self.folder, "log", self.number), source));
        }
        (self.chain, self.length, self.is_torn) = (chain, self.length + bytes.len() as u64, false);
        Ok(())
    }

    /// Whether something can be written at all.
    pub(super) fn try_room(&self) -> Result<(), StateError> {
        #[cfg(test)]
        if self.room.is_some_and(|room| room < 1024) {
            return Err(failed("write to", &self.folder, io::ErrorKind::StorageFull.into()));
        }
        let part = self.folder.join(PART);
        let tried = open_new(&part).and_then(|mut file| {
            file.write_all(&[0; 64 * 1024])?;
            file.sync_all()
        });
        // It is overwritten the next time.
        let _ = fs::remove_file(&part);
        tried.map_err(|source| failed("write to", &self.folder, source))
    }

    /// Whether the log has become so long that reading it would take longer than reading a new snapshot.
    pub(super) fn wants_snapshot(&self) -> bool {
        self.length > SHORT_LOG_BYTES.max(2 * self.pair.snapshot_bytes)
    }

    /// Begins anew with these objects. If that fails, all is as it was.
    pub(super) fn snapshot(&mut self, entries: &[Entry]) -> Result<(), StateError> {
        self.pair = Pair::write(&self.folder, self.number + 1, entries)?;
        self.number += 1;
        (self.length, self.is_torn, self.chain) = (BEGINNING.len() as u64, false, Chain::default());
        self.forget_others();
        Ok(())
    }

    /// Takes away what is in the log after what is known to be whole.
    fn mend(&mut self) -> Result<(), StateError> {
        if !self.is_torn {
            return Ok(());
        }
        let mended = self
            .pair
            .log
            .set_len(self.length)
            .and_then(|()| self.pair.log.seek(SeekFrom::Start(self.length)));
        mended.map_err(|source| failed("write to", &path(&self.folder, "log", self.number), source))?;
        self.is_torn = false;
        Ok(())
    }

    /// Removes what belongs to another pair. What cannot be removed now is, the next time.
    fn forget_others(&self) {
        let ours = ["snapshot", "log"].map(|what| path(&self.folder, what, self.number));
        for file in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = file.file_name();
            let is_of_a_pair =
                ["snapshot-", "log-"].iter().any(|what| name.to_string_lossy().starts_with(what));
            if (is_of_a_pair || name == PART) && !ours.contains(&file.path()) {
                let _ = fs::remove_file(file.path());
            }
        }
    }

    #[cfg(not(test))]
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.pair.log.write_all(bytes)
    }

    /// A disk with so much room.
    #[cfg(test)]
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(room) = self.room.as_mut() else { return self.pair.log.write_all(bytes) };
        let part = bytes.len().min(usize::try_from(*room).unwrap());
        self.pair.log.write_all(&bytes[..part])?;
        if part < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        *room -= part as u64;
        Ok(())
    }
}

/// What is kept open of a pair.
struct Pair {
    log: File,
    snapshot_bytes: u64,
}

impl Pair {
    /// Writes a snapshot, and the log that goes with it.
    fn write(folder: &Path, number: u64, objects: &[Entry]) -> Result<Self, StateError> {
        let (part, whole) = (folder.join(PART), path(folder, "snapshot", number));
        let mut bytes = BEGINNING.to_vec();
        let mut chain = Chain::default();
        for entry in objects {
            entry.write(&mut chain, &mut bytes);
        }
        let write = || {
            let mut snapshot = open_new(&part)?;
            snapshot.write_all(&bytes)?;
            snapshot.sync_all()?;
            let mut log = open_new(&path(folder, "log", number))?;
            log.write_all(BEGINNING)?;
            log.sync_all()?;
            // From here on, this is the pair that counts.
            fs::rename(&part, &whole)?;
            File::open(folder)?.sync_all()?;
            Ok(log)
        };
        let log = write().map_err(|source| failed("write", &whole, source))?;
        Ok(Self { log, snapshot_bytes: bytes.len() as u64 })
    }
}

/// How far a file is whole.
#[derive(Debug, Default)]
struct Whole {
    length: u64,
    chain: Chain,
}

/// The entries of a file. Only a log may be cut off.
fn entries_of(path: &Path, bytes: &[u8], may_be_cut_off: bool) -> Result<(Vec<Entry>, Whole), StateError> {
    let mut whole = Whole::default();
    match bytes.strip_prefix(&BEGINNING[..7]).map(|rest| rest.first()) {
        Some(Some(version)) if *version == BEGINNING[7] => {}
        Some(Some(version)) => return Err(StateError::Version { file: path.to_owned(), version: *version }),
        _ => return Err(damaged(path, 0, "it does not begin as our files do")),
    }
    let mut at = BEGINNING.len();
    let mut entries = Vec::new();
    while at < bytes.len() {
        match Entry::read(&bytes[at..], &mut whole.chain) {
            Ok((entry, length)) => {
                entries.push(entry);
                at += length;
            }
            Err(Unreadable::Short) if may_be_cut_off => break,
            Err(Unreadable::Short) => return Err(damaged(path, at, "it ends within an entry")),
            Err(Unreadable::Damaged(why)) => return Err(damaged(path, at, why)),
        }
    }
    whole.length = at as u64;
    Ok((entries, whole))
}

/// The entries of a log that are whole, and how far they go.
#[cfg(any(test, fuzzing))]
pub(super) fn whole_entries(path: &Path, log: &[u8]) -> Result<(Vec<Entry>, u64), StateError> {
    entries_of(path, log, true).map(|(entries, whole)| (entries, whole.length))
}

/// Makes sure that nobody else has the folder open.
fn lock(folder: &Path) -> Result<File, StateError> {
    let path = folder.join("lock");
    let file = open(&path, true)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StateError::InUse { folder: folder.to_owned() }),
        Err(TryLockError::Error(source)) => Err(failed("lock", &path, source)),
    }
}

/// The number of the newest pair.
fn newest(folder: &Path) -> Result<Option<u64>, StateError> {
    let files = fs::read_dir(folder).map_err(|source| failed("read", folder, source))?;
    let names: Vec<String> =
        files.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    let numbers = |what: &str| -> Option<u64> {
        names.iter().filter_map(|name| name.strip_prefix(what)?.parse::<u64>().ok()).max()
    };
    let (snapshot, log) = (numbers("snapshot-"), numbers("log-"));
    // The log of a snapshot is made just before it, and one that is never written to is empty.
    let is_begun = |number: &u64| {
        fs::metadata(path(folder, "log", *number)).is_ok_and(|file| file.len() > BEGINNING.len() as u64)
    };
    match log.filter(|log| snapshot.is_none_or(|snapshot| *log > snapshot)).filter(is_begun) {
        Some(log) => Err(damaged(&path(folder, "snapshot", log), 0, "it is not there, and its log is")),
        None => Ok(snapshot),
    }
}

fn path(folder: &Path, what: &str, number: u64) -> PathBuf {
    folder.join(format!("{what}-{number}"))
}

fn open(path: &Path, create: bool) -> Result<File, StateError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).truncate(false).mode(0o600);
    options.open(path).map_err(|source| failed("open", path, source))
}

fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)
}

pub(super) fn failed(doing: &'static str, path: &Path, source: io::Error) -> StateError {
    StateError::File { doing, path: path.to_owned(), source }
}

fn damaged(file: &Path, offset: usize, why: &'static str) -> StateError {
    StateError::Damaged { file: file.to_owned(), offset: offset as u64, why }
}
