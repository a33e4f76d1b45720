//! What time it is: the system's, or a simulation's.

use jiff::Timestamp;
use std::{fmt, sync::Arc};

/// Where the operators read the time. Nothing else of theirs may.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The system's time.
    pub fn system() -> Self {
        Self(Arc::new(Timestamp::now))
    }

    /// A time of one's own.
    pub fn new(read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Clock({})", self.now())
    }
}
