//! The fence: the garden's record of the ledger that serves it, and of how far that ledger had come.
//!
//! The record is the data of one ConfigMap. Every installation has to win it by compare-and-swap before it tells a request that it has
//! an account, so a ledger that went back, was cloned or was replaced shows before anything is handed out from it.

use super::Epoch;
use std::collections::BTreeMap;

/// As many entries of the history a record names.
///
/// Lost commits are the last ones in the order of the database's log. Answers arrive in another order, but a transaction can only be
/// overtaken by those that ran beside it, and there are at most as many as the ledger has connections. So the last commit is one of
/// this many last answers.
pub const FENCED_ENTRIES: usize = 8;

const LEDGER: &str = "ledger";
const EPOCH: &str = "epoch";
const TERM: &str = "term";
const NUMBER: &str = "number";
const ENTRIES: &str = "entries";
const CONTROL_PLANE: &str = "controlPlane";
const INSTALLATION: &str = "installation";

/// The content of the fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenceRecord {
    /// The ledger's UUID.
    pub ledger: String,
    /// The epoch of the term that wrote it.
    pub epoch: Epoch,
    /// The id of that term; none where an older version wrote it.
    pub term: Option<String>,
    /// The last entries of the history that the term saw committed; empty where an older version wrote it.
    pub entries: Vec<i64>,
    /// The control plane whose requests are served: the UID of its namespace `kube-system`; none where nobody could tell.
    pub control_plane: Option<String>,
    /// The namespace of the operators in that control plane, whose Lease makes sure that one of them leads; none where nobody could tell.
    pub installation: Option<String>,
}

impl FenceRecord {
    /// Reads the data of the ConfigMap; none where it names no ledger or no epoch.
    pub fn read(data: &BTreeMap<String, String>) -> Option<Self> {
        let epoch = data.get(EPOCH)?.parse().ok().map(Epoch)?;
        let number = data.get(NUMBER).and_then(|number| number.parse().ok());
        let listed = data.get(ENTRIES).map(String::as_str).unwrap_or_default();
        let mut entries: Vec<i64> = listed.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        entries.extend(number.filter(|number| !entries.contains(number)));
        let text = |key: &str| data.get(key).filter(|value| !value.is_empty()).cloned();
        Some(Self {
            ledger: data.get(LEDGER)?.clone(),
            epoch,
            term: text(TERM),
            entries,
            control_plane: text(CONTROL_PLANE),
            installation: text(INSTALLATION),
        })
    }

    /// The data of the ConfigMap.
    pub fn data(&self) -> BTreeMap<String, String> {
        let Self { ledger, epoch, term, entries, control_plane, installation } = self;
        let number = entries.iter().max().copied().unwrap_or_default();
        let listed: Vec<String> = entries.iter().map(ToString::to_string).collect();
        BTreeMap::from([
            (LEDGER.to_owned(), ledger.clone()),
            (EPOCH.to_owned(), epoch.to_string()),
            (TERM.to_owned(), term.clone().unwrap_or_default()),
            (NUMBER.to_owned(), number.to_string()),
            (ENTRIES.to_owned(), listed.join(" ")),
            (CONTROL_PLANE.to_owned(), control_plane.clone().unwrap_or_default()),
            (INSTALLATION.to_owned(), installation.clone().unwrap_or_default()),
        ])
    }

    /// Whether both are of the same term.
    pub fn is_of_term(&self, other: &Self) -> bool {
        self.ledger == other.ledger && self.epoch == other.epoch && self.term == other.term
    }
}

/// Whom a leader serves, where that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// The control plane: the UID of its namespace `kube-system`.
    pub control_plane: Option<String>,
    /// The namespace of the operators in it.
    pub installation: Option<String>,
}

/// The ledger, as far as it is compared with the fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerFacts {
    /// Its UUID.
    pub uuid: String,
    /// Its epoch.
    pub epoch: Epoch,
    /// Whether it says nothing about accounts and requests.
    pub is_empty: bool,
    /// The term that led under the epoch of the fence, where the ledger knows it.
    pub term: Option<String>,
    /// The entries of the fence that the ledger does not have.
    pub missing: Vec<i64>,
    /// The control plane that is to be served, and the namespace of the operators that are to serve it.
    pub serves: Served,
    /// Whom its last leader served. It counts where the fence says nothing.
    pub served: Served,
}

/// Signs that this garden was served before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// Shoots with the label of the operators.
    pub shoots: usize,
    /// SubscriptionRequests that have an account, by their status and the labels of the binding. A finalizer proves nothing: tenants
    /// write finalizers.
    pub requests: usize,
    /// SubscriptionRequests that are Bound, in a control plane whose operators led before. They say nothing by themselves, because tenants
    /// forge statuses, but nobody is Bound before the operators lead for the first time.
    pub bound: usize,
}

/// The ledger is not the one that the garden was served from last, or not as far as it was then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerMismatch {
    /// The garden was served from another ledger.
    #[error(
        "this garden was served from ledger {known}, but this one is {found}: it was lost, or another installation serves \
         this garden; stop the other one or bring the ledger back, or run `allotment ledger rebuild`"
    )]
    Foreign {
        /// The ledger that the garden knows.
        known: String,
        /// Ours.
        found: String,
    },
    /// The ledger has not come as far as the garden has seen.
    #[error(
        "this garden has seen epoch {known} of the ledger, but the ledger is at epoch {found}: it comes from an old backup, or \
         another installation leads a copy of it; bring a newer one back or stop the other one, or run `allotment ledger rebuild`"
    )]
    Old {
        /// The epoch that the garden has seen.
        known: Epoch,
        /// The ledger's.
        found: Epoch,
    },
    /// The ledger has lost entries that the garden has seen.
    #[error(
        "this garden has seen entry {missing} of the ledger's history, and the ledger does not have it: the database was put back, \
         or another server took over without the last commits; bring a newer one back, or run `allotment ledger rebuild`"
    )]
    WentBack {
        /// The first entry that is missing.
        missing: i64,
    },
    /// Two copies of the ledger were led under the same epoch.
    #[error(
        "this garden was served under epoch {epoch} by term {known}, but the ledger says by term {found}: two installations lead \
         copies of one ledger; stop one of them, then run `allotment ledger rebuild` on the other"
    )]
    Copied {
        /// The epoch.
        epoch: Epoch,
        /// The term of the fence.
        known: String,
        /// The ledger's.
        found: String,
    },
    /// The requests of another control plane have the accounts.
    #[error(
        "this garden was served for the control plane whose namespace kube-system has UID {known}, but this one's has {found}: every \
         request of the other one would count as gone, and lose its account; use the kubeconfig of the other one, or, if this one takes \
         its place with all of its requests, run `allotment ledger rebuild --force`"
    )]
    OtherControlPlane {
        /// The one that the garden knows.
        known: String,
        /// Ours.
        found: String,
    },
    /// The operators of another namespace serve the garden. Two Leases exclude nobody, so each would take the lead from the other.
    #[error(
        "this garden was served by the operators in namespace {known}, but these are in namespace {found}: two installations would take \
         the lead from each other; stop these, or, if the others are gone, run `allotment ledger rebuild`"
    )]
    OtherInstallation {
        /// The namespace that the garden knows.
        known: String,
        /// Ours.
        found: String,
    },
    /// Somebody removed the fence.
    #[error(
        "ConfigMap allotment-ledger of the garden {fence}, but {trace}: make sure that no other installation serves this garden, \
         then run `allotment ledger rebuild`"
    )]
    NoFence {
        /// What is wrong with the ConfigMap.
        fence: &'static str,
        /// The sign that the garden was served before.
        trace: String,
    },
}

/// The fence, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fence {
    /// There is no ConfigMap.
    Missing,
    /// There is one, and it names no ledger.
    Unreadable,
    /// It names a ledger.
    Known(FenceRecord),
}

/// Whether accounts may be handed out from a ledger. Where the fence says nothing, they may only if nothing of ours is there.
pub fn verify(fence: &Fence, ledger: &LedgerFacts, traces: Traces) -> Result<(), LedgerMismatch> {
    let known = match fence {
        Fence::Missing => return verify_first_start("is not there", ledger, traces),
        Fence::Unreadable => return verify_first_start("names no ledger", ledger, traces),
        Fence::Known(known) => known,
    };
    let LedgerFacts { uuid, epoch, is_empty: _, term, missing, serves, served } = ledger;
    if known.ledger != *uuid {
        return Err(LedgerMismatch::Foreign { known: known.ledger.clone(), found: uuid.clone() });
    }
    if known.epoch > *epoch {
        return Err(LedgerMismatch::Old { known: known.epoch, found: *epoch });
    }
    let control_plane = known.control_plane.as_ref().or(served.control_plane.as_ref());
    if let (Some(known), Some(found)) = (control_plane, &serves.control_plane)
        && known != found
    {
        let (known, found) = (known.clone(), found.clone());
        return Err(LedgerMismatch::OtherControlPlane { known, found });
    }
    if let (Some(known_term), Some(found)) = (&known.term, term)
        && known_term != found
    {
        let (known_term, found) = (known_term.clone(), found.clone());
        return Err(LedgerMismatch::Copied { epoch: known.epoch, known: known_term, found });
    }
    if let Some(missing) = missing.iter().min() {
        return Err(LedgerMismatch::WentBack { missing: *missing });
    }
    // Last: whatever is wrong with the ledger itself says more.
    let installation = known.installation.as_ref().or(served.installation.as_ref());
    match (installation, &serves.installation) {
        (Some(known), Some(found)) if known != found => {
            Err(LedgerMismatch::OtherInstallation { known: known.clone(), found: found.clone() })
        }
        _ => Ok(()),
    }
}

fn verify_first_start(
    fence: &'static str,
    ledger: &LedgerFacts,
    traces: Traces,
) -> Result<(), LedgerMismatch> {
    let trace = match traces {
        _ if !ledger.is_empty => format!("ledger {} has accounts or requests", ledger.uuid),
        Traces { shoots, .. } if shoots > 0 => format!("{shoots} Shoots carry a label of Allotment's"),
        Traces { requests, .. } if requests > 0 => {
            format!("{requests} SubscriptionRequests have accounts whose labels agree")
        }
        Traces { bound, .. } if bound > 0 => format!(
            "{bound} SubscriptionRequests are Bound and the operators' Lease is older than this process, so they have served another \
             garden or from another ledger (check `gardener` and `ledger` in the configuration)"
        ),
        _ => return Ok(()),
    };
    Err(LedgerMismatch::NoFence { fence, trace })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> FenceRecord {
        FenceRecord {
            ledger: "L".to_owned(),
            epoch: Epoch(5),
            term: Some("T5".to_owned()),
            entries: vec![97, 101, 100],
            control_plane: Some("C".to_owned()),
            installation: Some("I".to_owned()),
        }
    }

    fn facts() -> LedgerFacts {
        LedgerFacts {
            uuid: "L".to_owned(),
            epoch: Epoch(5),
            is_empty: false,
            term: Some("T5".to_owned()),
            missing: vec![],
            serves: serves("C", "I"),
            served: Served::default(),
        }
    }

    fn serves(control_plane: &str, installation: &str) -> Served {
        let (control_plane, installation) = (Some(control_plane.to_owned()), Some(installation.to_owned()));
        Served { control_plane, installation }
    }

    fn verdict(fence: Fence, ledger: LedgerFacts) -> Option<LedgerMismatch> {
        verify(&fence, &ledger, Traces::default()).err()
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let data = record().data();
        assert_eq!(FenceRecord::read(&data), Some(record()));
        assert_eq!(data["number"], "101", "the number that people compare");
    }

    #[test]
    fn a_record_of_an_older_version_names_ledger_and_epoch_only() {
        let data =
            BTreeMap::from([("ledger".to_owned(), "L".to_owned()), ("epoch".to_owned(), "5".to_owned())]);
        let known = FenceRecord::read(&data).unwrap();
        assert_eq!((known.term.as_deref(), known.entries.len()), (None, 0));
        assert_eq!(verdict(Fence::Known(known), facts()), None);
    }

    #[test]
    fn a_record_without_ledger_or_epoch_is_none() {
        for key in ["ledger", "epoch"] {
            let mut data = record().data();
            data.remove(key);
            assert_eq!(FenceRecord::read(&data), None, "{key}");
        }
        let mut data = record().data();
        data.insert("epoch".to_owned(), "five".to_owned());
        assert_eq!(FenceRecord::read(&data), None);
    }

    #[test]
    fn a_ledger_that_went_on_serves() {
        assert_eq!(verdict(Fence::Known(record()), facts()), None);
        // Whoever led crashed before it wrote the fence, or the fence is of the term before.
        assert_eq!(verdict(Fence::Known(record()), LedgerFacts { epoch: Epoch(7), ..facts() }), None);
    }

    #[test]
    fn a_ledger_that_is_not_the_one_of_the_fence_does_not_serve() {
        let known = || Fence::Known(record());
        let foreign = verdict(known(), LedgerFacts { uuid: "M".to_owned(), ..facts() });
        assert!(matches!(foreign, Some(LedgerMismatch::Foreign { .. })), "{foreign:?}");
        let old = verdict(known(), LedgerFacts { epoch: Epoch(4), ..facts() });
        assert!(matches!(old, Some(LedgerMismatch::Old { .. })), "{old:?}");
        let lost = verdict(known(), LedgerFacts { missing: vec![101, 100], ..facts() });
        assert_eq!(lost, Some(LedgerMismatch::WentBack { missing: 100 }));
        let elsewhere = verdict(known(), LedgerFacts { serves: serves("D", "I"), ..facts() });
        assert!(matches!(elsewhere, Some(LedgerMismatch::OtherControlPlane { .. })), "{elsewhere:?}");
        let unknown = LedgerFacts { serves: Served::default(), ..facts() };
        assert_eq!(verdict(known(), unknown), None, "nobody can tell");
        let second = verdict(known(), LedgerFacts { serves: serves("C", "J"), ..facts() });
        assert!(matches!(second, Some(LedgerMismatch::OtherInstallation { .. })), "{second:?}");
        // Somebody took the fields out of the fence: the ledger remembers.
        let bare = || Fence::Known(FenceRecord { control_plane: None, installation: None, ..record() });
        assert_eq!(verdict(bare(), facts()), None, "an older version wrote both");
        let remembered = |serves| LedgerFacts { serves, served: self::serves("C", "I"), ..facts() };
        let elsewhere = verdict(bare(), remembered(serves("D", "I")));
        assert!(matches!(elsewhere, Some(LedgerMismatch::OtherControlPlane { .. })), "{elsewhere:?}");
        let second = verdict(bare(), remembered(serves("C", "J")));
        assert!(matches!(second, Some(LedgerMismatch::OtherInstallation { .. })), "{second:?}");
        let copied = verdict(known(), LedgerFacts { term: Some("other".to_owned()), ..facts() });
        assert!(matches!(copied, Some(LedgerMismatch::Copied { .. })), "{copied:?}");
    }

    #[test]
    fn without_a_fence_nothing_of_ours_may_be_there() {
        let empty = || LedgerFacts { is_empty: true, term: None, ..facts() };
        for fence in [Fence::Missing, Fence::Unreadable] {
            assert_eq!(verify(&fence, &empty(), Traces::default()), Ok(()), "a first start");
            let found = [
                verify(&fence, &facts(), Traces::default()),
                verify(&fence, &empty(), Traces { shoots: 1, ..Traces::default() }),
                verify(&fence, &empty(), Traces { requests: 1, ..Traces::default() }),
                verify(&fence, &empty(), Traces { bound: 1, ..Traces::default() }),
            ];
            for verdict in found {
                let error = verdict.unwrap_err();
                assert!(error.to_string().contains("allotment ledger rebuild"), "{error}");
            }
        }
    }
}
