//! Operators under faults: their own code, two replicas of each, on embedded servers and one ledger, from one seed.
//!
//! | file | what is in it |
//! |---|---|
//! | `play` | what is simulated |
//! | `dice`, `rates` | chance, and how often what goes wrong |
//! | `script` | a run as text, to be read and run again |
//! | `world`, `setting` | servers and ledger, and what is there before anybody begins |
//! | `field` | what gardens have that is not an object |
//! | `wire`, `call` | what stands between an operator and the world, and what its calls are |
//! | `edit` | people who change every field that a schema has |
//! | `eyes` | what the oracles of `allotment_core::check` see |
//! | `past` | a past that comes back: lost commits, a second installation, restored servers |
//! | `tokens` | whom tokens are given to, and why |
//! | `process` | what operators run in: it ends, stands still, and starts again |
//! | `run` | one run: faults, then calm, then a resync that must write nothing |
//! | `coverage` | what was tried |
//! | `sweep`, `enumerate`, `shrink` | many seeds; a crash at every write; a failing run made small |

pub(crate) mod call;
pub(crate) mod coverage;
pub(crate) mod dice;
pub(crate) mod edit;
mod enumerate;
pub(crate) mod eyes;
pub(crate) mod field;
pub(crate) mod past;
mod play;
pub(crate) mod process;
pub(crate) mod rates;
mod run;
pub(crate) mod script;
mod setting;
mod shrink;
mod sweep;
mod tokens;
pub(crate) mod wire;
pub(crate) mod world;

pub use coverage::{Cell, Coverage};
pub use edit::{Edit, To};
pub use enumerate::{Enumerated, enumerate};
pub use past::{Deed as PastDeed, FenceEdit, Restored};
pub use play::Play;
pub use run::{Run, run_planted, run_script, run_seed};
pub use script::{Action, Harm, Options, Script, ScriptError, Spot, Want};
pub use shrink::{Shrunk, shrink};
pub use sweep::{Seeds, Sweep, sweep};
pub use world::SimError;
