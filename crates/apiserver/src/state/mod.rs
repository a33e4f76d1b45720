//! A server that remembers: what it has acknowledged is in a folder, and is there again after the process was killed.
//!
//! ```
//! use allotment_apiserver::{ApiServer, User};
//! use k8s_openapi::api::core::v1::Namespace;
//! use kube::{Api, Client, api::PostParams};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let namespaces = |server: &ApiServer| {
//!     Api::<Namespace>::all(Client::new(server.service(User::new("me", ["system:masters"])), "default"))
//! };
//! let mut mine = Namespace::default();
//! mine.metadata.name = Some("mine".to_owned());
//! {
//!     let server = ApiServer::kept_in(folder.path())?;
//!     namespaces(&server).create(&PostParams::default(), &mine).await?;
//! }
//! // A client has a task, which ends after it; the folder is free when nobody has the server any more.
//! tokio::task::yield_now().await;
//! let server = ApiServer::kept_in(folder.path())?;
//! assert!(namespaces(&server).get("mine").await.is_ok());
//! # Ok(())
//! # }
//! ```
//!
//! Over HTTPS, ports and keys are kept too, so kubeconfigs that were handed out go on working. One process at a time has a
//! folder open. A file that is not as it was written is a [`StateError::Damaged`] with file and offset, but for a tail that
//! was cut off while it was written.
//!
//! | file | what is in it |
//! |---|---|
//! | `entry` | what is written down, and how it looks as bytes |
//! | `files` | a snapshot, the log of what happened since, and who has them open |
//! | `secrets` | keys, which are made once |
//!
//! A request is answered, and its watchers are told, when all that it changed is on the disk. If that cannot be had, the
//! request is refused, and the server goes back to what is on the disk: nobody has seen anything else.

mod entry;
mod files;
mod secrets;
#[cfg(test)]
mod tests;

pub(crate) use entry::Entry;
pub use secrets::kept_authority;
pub(crate) use secrets::{keep_port, last_port};

use crate::{
    encode,
    error::ApiError,
    kinds::Kinds,
    meta,
    server::Server,
    store::{Store, Stored},
};
use files::Files;
use jiff::Timestamp;
use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// Why a folder cannot be used, or not be written to.
#[derive(Debug)]
pub enum StateError {
    /// Somebody else uses it.
    InUse {
        /// Which.
        folder: PathBuf,
    },
    /// A file is not as it was written.
    Damaged {
        /// Which.
        file: PathBuf,
        /// Where the first entry is that cannot be read.
        offset: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file was written by another version of this program.
    Version {
        /// Which.
        file: PathBuf,
        /// The version of its format.
        version: u8,
    },
    /// The system does not let us.
    File {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { folder } => {
                write!(
                    f,
                    "{} is in use by another process: stop it, or choose another folder",
                    folder.display()
                )
            }
            Self::Damaged { file, offset, why } => write!(
                f,
                "{} is damaged at byte {offset}: {why}; nothing was changed, put back a copy of the folder or begin with an empty one",
                file.display()
            ),
            Self::Version { file, version } => write!(
                f,
                "{} has version {version} of the format, and this program knows version 1: use the program that wrote it",
                file.display()
            ),
            Self::File { doing, path, source } => write!(f, "cannot {doing} {}: {source}", path.display()),
        }
    }
}

impl std::error::Error for StateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            Self::InUse { .. } | Self::Damaged { .. } | Self::Version { .. } => None,
        }
    }
}

/// How many entries of a log are whole, and how far they go. What comes after was cut off while it was written; anything else
/// that is wrong with it is an error.
#[cfg(any(test, fuzzing))]
pub(crate) fn whole_entries(log: &[u8]) -> Result<(usize, u64), StateError> {
    files::whole_entries(Path::new("log"), log).map(|(entries, length)| (entries.len(), length))
}

/// The same log with checksums that fit: begun with, and as it is written again, as far as it is understood.
#[cfg(any(test, fuzzing))]
pub(crate) fn begun_with(log: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut log = log.to_vec();
    entry::put_right(&mut log);
    let (entries, length) = files::whole_entries(Path::new("log"), &log).ok()?;
    log.truncate(usize::try_from(length).ok()?);
    let (mut chain, mut again) = (entry::Chain::default(), entry::BEGINNING.to_vec());
    entries.iter().for_each(|entry| entry.write(&mut chain, &mut again));
    let _ = Store::from_entries(entries).snapshot();
    Some((log, again))
}

/// Where a server remembers.
pub(crate) struct State {
    pub(crate) folder: PathBuf,
    files: Files,
    /// Whether the last write did not work.
    is_full: bool,
}

impl Server {
    /// Remembers everything in a folder from now on. If something is in there already, that takes the place of all that the
    /// server has; otherwise the folder begins with it. The server's kinds must be complete: see [`Server::extend`].
    pub fn keep_in(&mut self, folder: &Path, now: Timestamp) -> Result<(), StateError> {
        let (files, found) = Files::open(folder, || self.store.snapshot())?;
        self.tokens = secrets::token_signer(folder, &mut self.entropy)?;
        self.state = Some(State { folder: folder.to_owned(), files, is_full: false });
        match found {
            Some(entries) => self.begin_again(entries, now),
            None => self.store.note_changes(),
        }
        Ok(())
    }

    /// Refuses to write as long as the disk is full.
    pub(crate) fn check_room(&mut self) -> Result<(), ApiError> {
        let Some(state) = self.state.as_mut().filter(|state| state.is_full) else { return Ok(()) };
        state.files.try_room().map_err(|error| not_kept(&error))?;
        state.is_full = false;
        Ok(())
    }

    /// Writes down what has changed since the last time. If that cannot be done, it has not changed.
    pub(crate) fn commit(&mut self, now: Timestamp) -> Result<(), ApiError> {
        let Some(state) = &mut self.state else { return Ok(()) };
        let entries = self.store.take_unwritten();
        if entries.is_empty() {
            return Ok(());
        }
        if let Err(error) = state.files.append(&entries) {
            state.is_full = true;
            match state.files.read() {
                Ok(entries) => self.begin_again(entries, now),
                // What is in memory is more than what is kept, and must not be seen.
                Err(unread) => self.lost = Some(format!("{error}; and then: {unread}")),
            }
            return Err(not_kept(&error));
        }
        if state.files.wants_snapshot() {
            // If it cannot be had, the log is as good, only longer.
            let _ = state.files.snapshot(&self.store.snapshot());
        }
        Ok(())
    }

    /// Takes what is remembered for what there is.
    fn begin_again(&mut self, entries: Vec<Entry>, now: Timestamp) {
        self.store = Store::from_entries(entries);
        self.rbac = crate::auth::rbac::Rbac::default();
        self.chores = crate::chores::Chores::default();
        self.policies = crate::policy::Policies::default();
        self.kinds = Kinds::builtin();
        for resource in self.extensions.iter().flat_map(|extension| extension.resources()) {
            self.kinds.register(resource);
        }
        // First the kinds, so that nothing is taken for gone because its kind is not known yet.
        let (definitions, others): (Vec<_>, Vec<_>) = self
            .store
            .all()
            .filter_map(|(kind, key, stored)| {
                Some((kind.clone(), key.clone(), encode::read(&stored.bytes).ok()?))
            })
            .partition(|(kind, ..)| kind.plural == "customresourcedefinitions");
        for (kind, key, object) in definitions {
            self.noticed(&kind, &key, Some(&object));
        }
        self.do_chores(now);
        for (kind, key, object) in others {
            self.noticed(&kind, &key, Some(&object));
        }
    }
}

impl Store {
    /// All objects, to begin with.
    fn snapshot(&self) -> Vec<Entry> {
        let objects = self.all().map(|(kind, key, stored)| Entry::Put {
            revision: stored.revision,
            kind: kind.clone(),
            key: key.clone(),
            bytes: stored.bytes.clone(),
        });
        let mut entries: Vec<Entry> = objects.collect();
        entries.push(Entry::Complete { revision: self.revision(), count: entries.len() as u64 });
        entries
    }

    /// What these entries lead to. Of the time before nothing is known.
    fn from_entries(entries: Vec<Entry>) -> Self {
        let mut store = Self::default();
        for entry in entries {
            match entry {
                Entry::Put { revision, kind, key, bytes } => {
                    let labels = encode::read(&bytes).map(|object| meta::labels(&object)).unwrap_or_default();
                    store.bring_back(&kind, key, Stored { revision, bytes, labels });
                }
                Entry::Remove { revision, kind, key } => store.leave_out(&kind, &key, revision),
                Entry::Complete { revision, count: _ } => store.advance(revision),
            }
        }
        store.compact();
        store.note_changes();
        store
    }
}

fn not_kept(error: &StateError) -> ApiError {
    ApiError::internal(format_args!("{error}; nothing was changed, make room and try again"))
}
