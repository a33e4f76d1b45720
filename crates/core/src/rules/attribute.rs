//! The attributes of a rule, as tables: nothing else in this room counts them or knows their names.

use std::fmt;

/// What a rule can compare with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Input {
    /// `PR`: the region of the platform.
    PlatformRegion,
    /// `HR`: the region in the cloud.
    HyperscalerRegion,
}

/// How many inputs there are.
pub const INPUTS: usize = Input::ALL.len();

/// A value for each input; `None` where a rule takes any.
pub type Inputs = [Option<String>; INPUTS];

impl Input {
    /// All of them, in the order in which they are written and composed.
    pub const ALL: [Self; 2] = [Self::PlatformRegion, Self::HyperscalerRegion];

    /// As it is written in a rule.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PlatformRegion => "PR",
            Self::HyperscalerRegion => "HR",
        }
    }

    /// As people say it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::PlatformRegion => "platform region",
            Self::HyperscalerRegion => "hyperscaler region",
        }
    }

    /// Its place in [`Inputs`].
    pub const fn index(self) -> usize {
        self as usize
    }

    pub(super) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|input| input.name() == name)
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a rule can say about the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Output {
    /// The value of an input becomes part of the type.
    Suffix(Input),
    /// `S`: several tenants use one account.
    Shared,
    /// `EU`: for regions with EU access only.
    EuAccess,
}

impl Output {
    /// All of them, in the order in which they are written.
    pub const ALL: [Self; 4] = [
        Self::Suffix(Input::PlatformRegion),
        Self::Suffix(Input::HyperscalerRegion),
        Self::Shared,
        Self::EuAccess,
    ];

    /// As it is written in a rule.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Suffix(input) => input.name(),
            Self::Shared => "S",
            Self::EuAccess => "EU",
        }
    }

    pub(super) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|output| output.name() == name)
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    suffixes: [bool; INPUTS],
    shared: bool,
    eu_access: bool,
}

impl Outputs {
    /// Whether one is in the set.
    pub const fn has(&self, output: Output) -> bool {
        match output {
            Output::Suffix(input) => self.suffixes[input.index()],
            Output::Shared => self.shared,
            Output::EuAccess => self.eu_access,
        }
    }

    /// Puts one into the set, and returns whether it is new there.
    pub fn add(&mut self, output: Output) -> bool {
        let place = match output {
            Output::Suffix(input) => &mut self.suffixes[input.index()],
            Output::Shared => &mut self.shared,
            Output::EuAccess => &mut self.eu_access,
        };
        !std::mem::replace(place, true)
    }

    /// Those in the set, in the order in which they are written.
    pub fn iter(self) -> impl Iterator<Item = Output> {
        Output::ALL.into_iter().filter(move |&output| self.has(output))
    }

    /// The inputs whose values become part of the type, in the order in which they are composed.
    pub fn suffixes(self) -> impl Iterator<Item = Input> {
        Input::ALL.into_iter().filter(move |&input| self.has(Output::Suffix(input)))
    }
}
