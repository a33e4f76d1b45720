//! What every operator stands on: time, a queue of work, caches that follow a server, calls with a deadline, leadership.

pub mod call;
pub mod census;
pub mod clock;
pub mod controller;
pub mod events;
pub mod follow;
mod graves;
pub mod keep;
pub mod kept;
pub mod lease;
pub mod looks;
mod position;
pub mod queue;
pub mod report;
pub mod shared_read;
pub mod status;
pub mod work;
