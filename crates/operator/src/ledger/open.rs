//! Opening a ledger: to write, to read, to bring it up to date, to copy it.

use super::{
    Durability, Ledger, LedgerError, Migrated, Place, effort, migrate, recent,
    store::{Access, Store},
    writes,
};
use allotment_core::pool::Retention;
use std::{path::Path, sync::Arc};

impl Ledger {
    /// Opens `sqlite:///path/of/a/file`, `sqlite::memory:` or `postgres://…` to write, and brings its schema up to date.
    ///
    /// The way to PostgreSQL is encrypted and the server's certificate checked, unless it is a socket or an address of this
    /// machine, or the URL says `sslmode=disable`.
    pub async fn open(url: &str, place: Place) -> Result<Self, LedgerError> {
        Self::open_as(url, place, &new_uuid()?).await
    }

    /// The same, with an identity for the database if it is new: the simulation wants the same one every time.
    pub async fn open_as(url: &str, place: Place, uuid: &str) -> Result<Self, LedgerError> {
        let store = Store::at(url, Access::Write)?;
        migrate::migrate(&store, uuid).await?;
        Ok(Self::on(store, place))
    }

    /// Opens a ledger to read it, and changes nothing: not its schema, which must be of this version, nor a file.
    pub async fn open_to_read(url: &str, place: Place) -> Result<Self, LedgerError> {
        let store = Store::at(url, Access::Read)?;
        migrate::require_current(&store).await?;
        Ok(Self::on(store, place))
    }

    /// Brings the schema of a ledger up to date, or makes a ledger.
    pub async fn migrate(url: &str) -> Result<Migrated, LedgerError> {
        migrate::migrate(&Store::at(url, Access::Write)?, &new_uuid()?).await
    }

    /// Copies the SQLite ledger at a URL into a new file, while others write. It is refused if the file is there.
    pub async fn backup(url: &str, file: &Path) -> Result<(), LedgerError> {
        Store::at(url, Access::Read)?.backup(file, "back up the ledger").await
    }

    /// A copy of a SQLite ledger in memory, as it is now. For the simulation: another installation gets it, or the ledger is put back
    /// to it.
    pub async fn copy_in_memory(&self) -> Result<Self, LedgerError> {
        let store = Store::at("sqlite::memory:", Access::Write)?;
        self.store.copy_into(&store, "copy the ledger").await?;
        let recent = recent::Recent::default();
        Ok(Self { store, weather: None, recent, ..self.clone() })
    }

    /// Puts a SQLite ledger back to a copy of it, under whoever uses it. For the simulation.
    pub async fn put_back(&self, copy: &Self) -> Result<(), LedgerError> {
        copy.store.copy_into(&self.store, "put the ledger back").await
    }

    fn on(store: Store, place: Place) -> Self {
        Self {
            store,
            place: Arc::new(place),
            weather: None,
            meter: effort::Meter::default(),
            recent: recent::Recent::default(),
            retention: Retention::default(),
            dependencies: None,
            writes: writes::WriteHealth::default(),
            #[cfg(feature = "planted")]
            planted: None,
        }
    }

    /// What a commit survives, as PostgreSQL is set up. Of SQLite there is nothing to say: its commits reach the disk.
    pub async fn durability(&self) -> Result<Option<Durability>, LedgerError> {
        self.store.durability("read how commits are kept").await
    }
}

fn new_uuid() -> Result<String, LedgerError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| LedgerError::Unavailable {
        doing: "open the ledger",
        because: format!("there are no random numbers: {error}"),
    })?;
    Ok(uuid(random))
}

/// A random UUID (RFC 9562, version 4).
fn uuid(mut random: [u8; 16]) -> String {
    random[6] = random[6] & 0x0f | 0x40;
    random[8] = random[8] & 0x3f | 0x80;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
