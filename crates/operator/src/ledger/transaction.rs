//! A transaction on the ledger of one place: under the leader's epoch, with locks in the one order.

use super::{
    Account, Fate, LedgerError, Place, Weather,
    effort::Meter,
    history::Note,
    recent::Recent,
    store::{Row, Session, Value},
};
use allotment_core::pool::{Epoch, FENCED_ENTRIES, PoolKey, RequestUid, Tenant};
use jiff::Timestamp;
use std::{collections::BTreeSet, future::pending, sync::Arc};

/// Who writes.
#[derive(Clone, Debug)]
pub(super) struct Leader {
    pub(super) epoch: Epoch,
    pub(super) holder: String,
}

/// Who leads, how many of the entries `$3` to `$10` there are, and the id of the term.
macro_rules! leader {
    () => {
        "SELECT epoch, holder, \
         (SELECT count(*) FROM history WHERE id IN ($3, $4, $5, $6, $7, $8, $9, $10)), \
         (SELECT term FROM terms WHERE garden = $1 AND project = $2 AND epoch = leaders.epoch) \
         FROM leaders WHERE garden = $1 AND project = $2"
    };
}

/// An open transaction.
pub(super) struct Transaction {
    session: Session,
    place: Arc<Place>,
    pub(super) doing: &'static str,
    pub(super) leader: Leader,
    pub(super) now: Timestamp,
    meter: Meter,
    recent: Recent,
    /// The last entry of the history that this transaction has made.
    noted: Option<i64>,
    #[cfg(feature = "planted")]
    pub(super) seen: super::planted::Seen,
}

impl Transaction {
    pub(super) fn new(
        session: Session,
        place: Arc<Place>,
        doing: &'static str,
        now: Timestamp,
        meter: &Meter,
        recent: &Recent,
    ) -> Self {
        let leader = Leader { epoch: Epoch(0), holder: String::new() };
        Self {
            session,
            place,
            doing,
            leader,
            now,
            meter: meter.clone(),
            recent: recent.clone(),
            noted: None,
            #[cfg(feature = "planted")]
            seen: super::planted::Seen::default(),
        }
    }

    /// What was seen before the locks is believed.
    #[cfg(feature = "planted")]
    pub(super) fn believe(&mut self, seen: super::planted::Seen) {
        self.seen = seen;
    }

    /// Runs a statement whose `$1` and `$2` are garden and project; `parameters` begin with `$3`.
    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        parameters: &[Value],
    ) -> Result<Vec<Row>, LedgerError> {
        let mut all = vec![Value::from(self.place.garden.as_str()), Value::from(self.place.project.as_str())];
        all.extend_from_slice(parameters);
        self.run(sql, &all).await
    }

    async fn run(&mut self, sql: &'static str, parameters: &[Value]) -> Result<Vec<Row>, LedgerError> {
        let (rows, steps) = self.session.query_counted(sql, parameters).await?;
        self.meter.count(rows.len(), steps);
        Ok(rows)
    }

    /// Runs a statement that is about the whole ledger.
    pub(super) async fn query_ledger(&mut self, sql: &'static str) -> Result<Vec<Row>, LedgerError> {
        self.run(sql, &[]).await
    }

    /// Refuses a writer who does not lead, and lets nobody else begin to lead until this transaction is over. Refuses a database that
    /// went back, too.
    pub(super) async fn under(&mut self, epoch: Epoch) -> Result<(), LedgerError> {
        self.only_under(epoch, concat!(leader!(), " FOR SHARE")).await
    }

    /// The same, and waits until every other writing transaction is over, and keeps new ones out.
    pub(super) async fn alone_under(&mut self, epoch: Epoch) -> Result<(), LedgerError> {
        self.only_under(epoch, concat!(leader!(), " FOR UPDATE")).await
    }

    async fn only_under(&mut self, epoch: Epoch, sql: &'static str) -> Result<(), LedgerError> {
        let seen = self.recent.progress().entries;
        let rows = self.query(sql, &padded(&seen)).await?;
        self.led_by(epoch, rows.first())?;
        #[cfg(feature = "planted")]
        if self.seen.uncounted {
            return Ok(());
        }
        let found = rows.first().map_or(Ok(0), |row| row.int(2))?;
        if usize::try_from(found) == Ok(seen.len()) { Ok(()) } else { self.still_has(&seen).await }
    }

    /// Refuses a database that does not hold these entries, which this process has seen committed.
    pub(super) async fn still_has(&mut self, seen: &[i64]) -> Result<(), LedgerError> {
        match self.missing(seen).await?.first() {
            Some(missing) => Err(LedgerError::WentBack { doing: self.doing, missing: *missing }),
            None => Ok(()),
        }
    }

    /// The entries of the history among these that are not there, in order. At most [`FENCED_ENTRIES`] are looked for.
    pub(super) async fn missing(&mut self, entries: &[i64]) -> Result<Vec<i64>, LedgerError> {
        const SQL: &str = "SELECT id FROM history WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8)";
        let rows = self.run(SQL, &padded(entries)).await?;
        let found = rows.iter().map(|row| row.int(0)).collect::<Result<Vec<_>, _>>()?;
        let mut missing: Vec<i64> = entries.iter().copied().take(FENCED_ENTRIES).collect();
        missing.retain(|entry| !found.contains(entry));
        missing.sort_unstable();
        Ok(missing)
    }

    fn led_by(&mut self, mine: Epoch, row: Option<&Row>) -> Result<(), LedgerError> {
        let (current, holder) = match row {
            Some(row) => (Epoch(row.int(0)?), row.text(1)?.to_owned()),
            None => (Epoch(0), "nobody".to_owned()),
        };
        // An epoch above the ledger's is as wrong: the database was put back to an older state. Somebody may have led since, up to the
        // same epoch.
        let is_other = match (self.recent.term_of(mine), row) {
            (Some(term), Some(row)) => row.text(3)? != term,
            _ => false,
        };
        if row.is_none() || current != mine || is_other {
            return Err(LedgerError::Stale { mine, current, leader: holder });
        }
        self.leader = Leader { epoch: mine, holder };
        Ok(())
    }

    /// Locks a request, before anything else but the epoch: it is in an account, or it waits, or neither, whoever asks for it
    /// at the same time and for whichever tenant and pool. Requests share a few rows, since they come and go.
    pub(super) async fn lock_request(&mut self, request: &RequestUid) -> Result<(), LedgerError> {
        const ROWS: u32 = 64;
        self.lock_key(&shared_row("request", request.as_str(), ROWS)).await
    }

    /// Locks tenants, then pools. Tenants share rows: anybody can invent a tenant, and a row of its own would stay for ever. Account rows come after them: all transactions keep this order, so none waits for one that
    /// waits for it.
    pub(super) async fn lock(
        &mut self,
        tenants: BTreeSet<&Tenant>,
        pools: BTreeSet<&PoolKey>,
    ) -> Result<(), LedgerError> {
        const ROWS: u32 = 1024;
        let tenants: BTreeSet<String> =
            tenants.into_iter().map(|tenant| shared_row("tenant", tenant.as_str(), ROWS)).collect();
        let pools = pools.into_iter().map(|pool| {
            let PoolKey { hyperscaler_type, shared, eu_access } = pool;
            format!("pool/{hyperscaler_type}/{}/{}", u8::from(*shared), u8::from(*eu_access))
        });
        for key in tenants.into_iter().chain(pools).collect::<Vec<_>>() {
            self.lock_key(&key).await?;
        }
        Ok(())
    }

    async fn lock_key(&mut self, key: &str) -> Result<(), LedgerError> {
        const LOCK: &str = "SELECT key FROM locks WHERE garden = $1 AND project = $2 AND key = $3 FOR UPDATE";
        const MAKE: &str =
            "INSERT INTO locks (garden, project, key) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        // Waits for others who make the same row; the row itself may be one of theirs, so it is locked in either case.
        while self.query(LOCK, &[Value::from(key)]).await?.is_empty() {
            self.query(MAKE, &[Value::from(key)]).await?;
        }
        Ok(())
    }

    /// Writes what happens into the history, and says under which number.
    pub(super) async fn note(&mut self, note: Note<'_>) -> Result<i64, LedgerError> {
        const SQL: &str = "INSERT INTO history \
             (garden, project, at, account, event, tenant, request_uid, request, actor, because, epoch) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id";
        let Note { event, account, tenant, request, because } = note;
        let name = request.map(ToString::to_string);
        let parameters = [
            time(self.now),
            Value::from(account.map(|account| account.as_str())),
            Value::from(event.as_str()),
            Value::from(tenant.map(Tenant::as_str)),
            Value::from(request.map(|request| request.uid.as_str())),
            Value::from(name.as_deref()),
            Value::from(self.leader.holder.as_str()),
            Value::from(because),
            Value::from(self.leader.epoch.0),
        ];
        let rows = self.query(SQL, &parameters).await?;
        let number =
            rows.first().ok_or_else(|| self.broken("an entry of the history got no number"))?.int(0)?;
        self.noted = Some(number);
        Ok(number)
    }

    /// Whether a database that loses the last change of an account shows it by losing one of the entries that are remembered, too. A
    /// change of an earlier epoch came before this term's first entry.
    pub(super) fn covers(&self, row: &Account) -> bool {
        row.epoch != self.leader.epoch || self.recent.progress().entries.contains(&row.version)
    }

    pub(super) fn broken(&self, because: &str) -> LedgerError {
        LedgerError::Broken { doing: self.doing, because: because.to_owned() }
    }

    pub(super) fn contended(&self, because: &str) -> LedgerError {
        LedgerError::Contended { doing: self.doing, because: because.to_owned() }
    }

    /// Commits what went well, unless the weather is bad; rolls back what did not.
    pub(super) async fn end<T>(
        self,
        outcome: Result<T, LedgerError>,
        weather: Option<&dyn Weather>,
    ) -> Result<T, LedgerError> {
        let Self { session, doing, noted, recent, .. } = self;
        let committed = || noted.into_iter().for_each(|number| recent.committed(number));
        let value = match outcome {
            Ok(value) => value,
            Err(error) => {
                session.rollback().await;
                return Err(error);
            }
        };
        let Some(weather) = weather else {
            session.commit().await?;
            committed();
            return Ok(value);
        };
        if let Some(parked) = weather.park(doing) {
            parked.await;
        }
        let failed = || LedgerError::Unavailable { doing, because: "a fault was asked for".to_owned() };
        let fate = weather.on(doing);
        if matches!(fate, Fate::FailBefore | Fate::HangBefore) {
            session.rollback().await;
        } else {
            session.commit().await?;
            weather.committed(doing);
        }
        match fate {
            Fate::Go => {
                committed();
                Ok(value)
            }
            Fate::FailBefore | Fate::FailAfter => Err(failed()),
            Fate::HangBefore | Fate::HangAfter => pending().await,
        }
    }
}

/// The lock row of something that shares a fixed number of rows with its like. Every version must find the same row.
fn shared_row(kind: &str, name: &str, rows: u32) -> String {
    let hash = name.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    format!("{kind}/{}", hash % rows)
}

/// As many parameters as there are numbers at most. No entry has the number 0.
fn padded(numbers: &[i64]) -> Vec<Value> {
    let padding = std::iter::repeat(&0);
    numbers.iter().chain(padding).take(FENCED_ENTRIES).copied().map(Value::from).collect()
}

/// A time as a column has it.
pub(super) fn time(at: Timestamp) -> Value {
    Value::Text(format!("{at:.6}"))
}
