//! How often what goes wrong. Runs that all have a little of everything hide what needs much of one thing and none of
//! another.

use super::{
    dice::{Dice, dice_for},
    script::{Harm, Options},
};

/// How often what goes wrong, in calls out of a thousand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rates {
    pub(crate) delay: u64,
    pub(crate) longest_delay: u64,
    pub(crate) refuse: u64,
    pub(crate) refuse_after: u64,
    pub(crate) lose_request: u64,
    pub(crate) lose_answer: u64,
    pub(crate) hang: u64,
    pub(crate) stale: u64,
    pub(crate) watch: u64,
    pub(crate) crash: u64,
}

/// What kind of call it is, as far as faults go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A live read.
    Read,
    /// A list for a cache, or a Lease: may be old.
    List,
    Watch,
    Write,
    /// The way to the ledger.
    LedgerWay,
    /// A commit of the ledger.
    Commit,
}

impl Rates {
    /// What goes wrong with a call: the same whenever it is asked.
    pub(crate) fn harm(
        &self,
        seed: u64,
        replica: usize,
        (operation, state): (&str, &str),
        number: u64,
        kind: Kind,
    ) -> Option<Harm> {
        let who = replica.to_string();
        let mut dice = dice_for(seed, &["harm", &who, operation], number);
        let possible = self.possible(kind, &mut dice);
        let is_seldom = SELDOM.contains(&operation) || SELDOM_IN.contains(&(operation, state));
        if is_seldom && dice.happens(500) {
            let place = usize::try_from(dice.below(possible.len() as u64)).unwrap_or_default();
            return possible.get(place).map(|(_, harm)| *harm);
        }
        let mut drawn = dice.below(1000);
        for (rate, harm) in possible {
            if drawn < rate {
                return Some(harm);
            }
            drawn -= rate;
        }
        None
    }

    /// What can go wrong with a call in this run, and how often it does.
    fn possible(&self, kind: Kind, dice: &mut Dice) -> Vec<(u64, Harm)> {
        let Self { delay, longest_delay, refuse, refuse_after, .. } = *self;
        let Self { lose_request, lose_answer, hang, stale, watch, crash, .. } = *self;
        let refused = (refuse, Harm::Refuse { code: refusal(dice) });
        let delayed = (delay, Harm::Delay { time: dice.between(1, longest_delay) });
        let (lost_request, lost_answer) =
            ((lose_request, Harm::LoseRequest), (lose_answer, Harm::LoseAnswer));
        let crashes = [(crash - crash / 2, Harm::CrashBefore), (crash / 2, Harm::CrashAfter)];
        let mut possible = match kind {
            Kind::Watch => vec![(watch, watch_harm(dice)), refused, lost_request, (hang, Harm::HangBefore)],
            Kind::Read => vec![delayed, refused, lost_request, (hang, Harm::HangBefore), lost_answer],
            Kind::List => {
                let old = (stale, Harm::Stale { back: dice.between(1, 20) });
                vec![delayed, refused, lost_request, (hang, Harm::HangBefore), old, lost_answer]
            }
            Kind::Write => {
                let hangs = [(hang - hang / 2, Harm::HangBefore), (hang / 2, Harm::HangAfter)];
                let refused_after = (refuse_after, Harm::RefuseAfter { code: refusal(dice) });
                let others = [delayed, refused, lost_request, refused_after, lost_answer];
                others.into_iter().chain(hangs).chain(crashes).collect()
            }
            Kind::LedgerWay => vec![delayed, refused, (hang, Harm::HangBefore)],
            Kind::Commit => [refused, lost_answer].into_iter().chain(crashes).collect(),
        };
        possible.retain(|(rate, _)| *rate > 0);
        possible
    }
}

/// What is seldom done goes wrong often, in some way that things go wrong in its run: else it would take ten times the seeds to
/// see each of them once.
const SELDOM: [&str; 27] = [
    "assign",
    "way to assign",
    "deny",
    "lift",
    "lose",
    "way to lose",
    "quarantine",
    "read request",
    "retry",
    "revoke",
    // Of openMCP.
    "claim order",
    "clear secret",
    "delete order",
    "end entry",
    "hold booking",
    "let booking go",
    "let config go",
    "let landscape go",
    "put inside part back",
    "read inside part",
    "retry plot",
    "unmark booking",
    "unmark config",
    "unmark entry",
    "unmark landscape",
    "unmark order",
    "withdraw offer",
];

/// What is seldom done in one of its states.
const SELDOM_IN: [(&str, &str); 12] = [
    ("booking status", "Denied"),
    ("booking status", "Pending"),
    ("confirm plot", "given up"),
    ("delete plot", "given up"),
    ("delete plot", "working"),
    ("update plot", "given up"),
    ("update plot", "working"),
    ("create shoot", "again"),
    ("update shoot", "given up"),
    ("confirm deletion", "given up"),
    ("delete shoot", "given up"),
    ("cluster status", "Unhealthy"),
];

fn refusal(dice: &mut Dice) -> u16 {
    dice.pick(&[409, 429, 500, 503, 504]).unwrap_or(500)
}

fn watch_harm(dice: &mut Dice) -> Harm {
    let after = usize::try_from(dice.below(8)).unwrap_or_default();
    match dice.below(4) {
        0 => Harm::WatchDrop { after },
        1 => Harm::WatchExpire { after },
        2 => Harm::WatchCoalesce,
        _ => Harm::WatchStall { time: dice.between(50, 5000) },
    }
}

/// Each kind of fault is there in some seeds only.
pub(crate) fn rates(dice: &mut Dice) -> Rates {
    let mut rate = |chance: u64, most: u64| if dice.happens(chance) { dice.between(1, most) } else { 0 };
    Rates {
        delay: rate(500, 200),
        longest_delay: rate(1000, 6000).max(2),
        refuse: rate(500, 60),
        refuse_after: rate(400, 40),
        lose_request: rate(400, 40),
        lose_answer: rate(500, 60),
        hang: rate(400, 40),
        stale: rate(400, 300),
        watch: rate(600, 600),
        crash: rate(600, 40),
    }
}

/// One of several names.
pub(crate) fn one(items: &[String], dice: &mut Dice) -> Option<String> {
    let places: Vec<usize> = (0..items.len()).collect();
    dice.pick(&places).and_then(|place| items.get(place).cloned())
}

/// The names of the accounts: `a…` for one tenant each, `e…` with EU access, `s…` shared.
pub(crate) fn account_names(options: &Options) -> Vec<String> {
    let named = |letter: char, count: u64| (1..=count).map(move |number| format!("{letter}{number}"));
    let all = named('a', options.dedicated).chain(named('e', options.eu));
    all.chain(named('s', options.shared)).collect()
}
