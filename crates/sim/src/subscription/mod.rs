//! The subscription operator under faults: its own code, two replicas of it, on embedded servers and one ledger, from one
//! seed.
//!
//! | file | what is in it |
//! |---|---|
//! | `swarm`, `dice` | what a seed draws |
//! | `script` | a run as text, to be read and run again |
//! | `world`, `people` | servers, ledger; tenants, whoever makes clusters, the cleaner, those who meddle |
//! | `wire`, `call` | what stands between an operator and the world, and what its calls are |
//! | `eyes` | what the oracles of `allotment_core::check` see |
//! | `run` | one run: faults, then calm, then a resync that must write nothing |
//! | `coverage` | what was tried |
//! | `sweep`, `enumerate`, `shrink` | many seeds; a crash at every write; a failing run made small |

mod call;
mod coverage;
mod dice;
mod enumerate;
mod eyes;
mod people;
mod run;
mod script;
mod shrink;
mod swarm;
mod sweep;
mod wire;
mod world;

pub use coverage::{Cell, Coverage};
pub use enumerate::{Enumerated, enumerate, scenario};
pub use run::{Run, run_planted, run_script, run_seed};
pub use script::{Action, Harm, Options, Script, ScriptError, Spot, Want};
pub use shrink::{Shrunk, shrink};
pub use sweep::{Seeds, Sweep, sweep};
pub use world::SimError;
