//! Chance, from a seed: the same every time and everywhere.

/// Draws one number after the other.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// SplitMix64.
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// One of `0..limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit.max(1)
    }

    /// One of `from..=to`.
    pub(crate) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to.saturating_sub(from) + 1)
    }

    /// Whether something happens that happens so often in a thousand times.
    pub(crate) fn happens(&mut self, in_a_thousand: u64) -> bool {
        self.below(1000) < in_a_thousand
    }

    /// One of several.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        let place = usize::try_from(self.below(items.len() as u64)).unwrap_or_default();
        items.get(place).copied()
    }
}

/// Dice for one question: asked again, they say the same, whatever was asked in between.
pub(crate) fn dice_for(seed: u64, about: &[&str], number: u64) -> Dice {
    let mut state =
        mixed(seed ^ 0x5851_f42d_4c95_7f2d).wrapping_add(number.wrapping_mul(0x2545_f491_4f6c_dd1d));
    for word in about {
        for byte in word.bytes().chain([0]) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    Dice(mixed(state))
}

fn mixed(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A hash of everything that ever happened in a run (FNV-1a).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceHash(pub(crate) u64);

impl Default for TraceHash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl TraceHash {
    pub(crate) fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([b'\n']) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
