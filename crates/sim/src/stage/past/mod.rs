//! The past that comes back: a ledger that loses its last commits, a second installation, a fence that people change, and servers
//! that are put back to an older state; and the person who follows the remedy of `docs/accounts.md`.
//!
//! | file | what is in it |
//! |---|---|
//! | `deed` | the acts, as a script has them |
//! | `swarm` | which of them a seed draws |
//! | `ledger` | copies of the ledger, and how it goes back |
//! | `second` | the processes of a second installation, and of the person |
//! | `person` | who notices that the ledger does not fit, ends the second installation, and rebuilds |
//! | `fence` | changes of the fence by hand |
//! | `guard` | who reads and writes the fence, and when |
//! | `restore` | servers that are put back |

mod deed;
mod fence;
mod guard;
mod ledger;
mod person;
mod restore;
mod second;
mod swarm;

pub use deed::{Deed, FenceEdit, Restored};
pub(crate) use guard::{SeenCommit, has_bound, has_led, has_read, has_written};
pub(crate) use ledger::remember;
pub(crate) use person::look;
pub(crate) use second::Troupe;
pub(crate) use swarm::drawn;

use super::{
    call::Side,
    script::{Action, Script},
    world::World,
};
use allotment_apiserver::ApiServer;
use allotment_operator::ledger::Ledger;
use guard::ReadFence;
use ledger::Copy;
use std::collections::{BTreeMap, VecDeque};

/// The person who rebuilds, among those who write.
pub(crate) const PERSON: usize = 4;

/// The operator of the second installation.
pub(crate) const SECOND: usize = 5;

/// How many there are who write: operators, `PERSON` and `SECOND`.
pub(crate) const WRITERS: usize = 6;

/// What is known of a past that came back.
#[derive(Default)]
pub(crate) struct Past {
    /// Whether the script has an act of these.
    is_tried: bool,
    /// The ledger as it was after its last commits; the last of them is the ledger of now.
    copies: VecDeque<Copy>,
    /// Whether the ledger ever went back, or there were two: labels may have been written by whoever lost since.
    pub(super) was_lost: bool,
    /// The term that had the fence when that happened; another one compares the ledger with the world. None: it need not be
    /// another one, because the ledger itself is whole.
    lost_in: Option<String>,
    second: Option<Second>,
    /// The last entry of the history that was left, for each time that the ledger went back.
    losses: Vec<i64>,
    /// The term that has the fence, and the fence as each process has read it last.
    fence_of: Option<String>,
    read: BTreeMap<usize, ReadFence>,
    /// Since when the ledger does not fit the fence.
    unfit_since: Option<u64>,
    /// When the person looked last, and whether something was left to do.
    looked_at: u64,
    is_busy: bool,
    /// Whether the person rebuilds.
    rebuilds: bool,
    /// How often a person has begun to.
    rebuilt: u64,
    /// The revisions of garden and control plane that no restore goes behind.
    floors: [u64; 2],
}

struct Second {
    ledger: Ledger,
    /// The control plane whose requests it serves, where it is not ours.
    control_plane: Option<ApiServer>,
    /// When the person ends it.
    until: u64,
}

/// Begins to follow, if the script has an act by which the past comes back.
pub(crate) fn begin(world: &World, script: &Script) {
    let is_past = |(_, action): &(u64, Action)| matches!(action, Action::Past(_));
    if !script.actions.iter().any(is_past) {
        return;
    }
    let revision = |side| world.server(side).with_server(|server| server.revision());
    let floors = [revision(Side::Garden), revision(Side::ControlPlane)];
    world.state().past = Past { is_tried: true, floors, ..Past::default() };
    remember(world);
}

/// Does what the script says.
pub(crate) fn act(world: &World, deed: Deed) {
    match deed {
        Deed::LoseCommits { commits } => ledger::lose(world, commits),
        Deed::SecondInstallation { copy, time } => second::begin(world, copy, time),
        Deed::OtherControlPlane { time } => second::begin_elsewhere(world, time),
        Deed::Fence { edit } => fence::change(world, edit),
        Deed::PutBack { server, writes } => restore::put_back(world, server, writes),
    }
}
