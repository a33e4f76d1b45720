//! Where the faults are that can be planted into the controllers of a process: they share this one thing.

use super::Landscapes;
use crate::planted::Planted;

impl Landscapes {
    /// Plants a fault, in whichever controller has it.
    #[must_use]
    #[cfg(feature = "planted")]
    pub fn plant(self, fault: Planted) -> Self {
        // One is all that a run has.
        let _ = self.0.planted.set(fault);
        self
    }

    /// Plants nothing: the feature is off.
    #[must_use]
    #[cfg(not(feature = "planted"))]
    pub fn plant(self, _: Planted) -> Self {
        self
    }

    /// Whether a fault is planted.
    #[cfg(feature = "planted")]
    pub(crate) fn has(&self, fault: Planted) -> bool {
        self.0.planted.get() == Some(&fault)
    }

    /// Whether a fault is planted: never.
    #[cfg(not(feature = "planted"))]
    pub(crate) const fn has(&self, _: Planted) -> bool {
        false
    }
}
