//! Is a returned cloud account empty? What has to be deleted in it, in which order, and when may it be handed out again?
//!
//! Everything here is a value: listings go in ([`Inventory`]), a [`Plan`] and a [`Verdict`] come out. The shell lists and
//! deletes through the crate `allotment-clouds`.
//!
//! - *Unknown never counts as empty.* A cell that nobody listed, a page that did not come, a count that was refused:
//!   each of them keeps an account from being freed, and the verdict names it.
//! - *Kept and baseline items are never deleted*, and neither are those of the never-delete rules in [`kinds`].
//! - *Rules fail closed.* An item whose treatment depends on another one (an internet gateway on its VPC) is left alone
//!   if that other one could not be listed.

mod decide;
mod disposition;
mod gates;
mod guard;
mod inventory;
mod item;
mod keep;
pub mod kinds;
mod names;
mod plan;
mod proof;
mod refusal;
mod stage;
mod stuck;
mod verdict;
mod witness;

#[cfg(test)]
mod tests;

pub use decide::{Action, Observed, Step, decide};
pub use disposition::{Disposition, KeptBecause};
pub use gates::{AccountFacts, Gate, Identity, gate};
pub use guard::{Fleet, GuardLimits, PoolDirt, halted};
pub use inventory::{Cell, Inventory, PlaceState, Places, UnknownCell};
pub use item::{Item, ItemKey, attribute};
pub use keep::{Baseline, Keep};
pub use kinds::{CountKind, Kind, Prepare, Scope, Table, Treatment, When};
pub use names::{
    Cloud, CloudAccountId, CountName, ItemId, KindName, NotSupported, Place, ShootHistory, TechnicalId,
};
pub use plan::{Immovable, Kept, Plan, Planned, Wave, plan};
pub use proof::{AssumedAbsent, BaselineReference, KeptReference, ListingTimes, Proof, WitnessedCount};
pub use refusal::{Refusal, clean_code, clean_message};
pub use stage::{Evidence, Mode, Progress, Record, Stage, Timing};
pub use stuck::{RefusedItem, Stuck};
pub use verdict::{Left, Question, Verdict, verdict};
pub use witness::{Count, Witness};
