//! Which of the acts a seed draws. They come from a stream of their own, so that nothing else that is drawn moves.

use super::{Deed, FenceEdit, Restored};
use crate::stage::{
    dice::{Dice, dice_for},
    script::{Action, Options},
};

/// In how many seeds out of a thousand the past comes back.
const SEEDS: u64 = 300;

/// The earliest time: there must be a past.
const EARLIEST: u64 = 6_000;

/// What a seed draws. One kind of act for each seed: the fence guards against each of them, and not against all at once.
pub(crate) fn drawn(options: &Options) -> Vec<(u64, Action)> {
    let mut dice = dice_for(options.seed, &["past"], 0);
    if !dice.happens(SEEDS) {
        return Vec::new();
    }
    let kind = dice.below(100);
    let is_second = (40..65).contains(&kind);
    let times = if dice.happens(300) { 2 } else { 1 };
    let mut actions = Vec::new();
    for _ in 0..times {
        // Most requests come early, and two installations only show where both are asked for something.
        let last = if is_second { options.calm / 2 } else { options.calm.saturating_sub(1000) };
        let at = dice.between(EARLIEST, last.max(EARLIEST));
        let deed = match kind {
            0..35 => {
                let are_down = dice.happens(300);
                actions.extend((0..2).filter(|_| are_down).map(|replica| (at, Action::Kill { replica })));
                lost(&mut dice)
            }
            35..40 => Deed::OtherControlPlane { time: dice.between(20, 60) * 1000 },
            40..65 => Deed::SecondInstallation { copy: dice.happens(700), time: dice.between(10, 60) * 1000 },
            65..80 => Deed::Fence { edit: edit(&mut dice) },
            _ => {
                let server = if dice.happens(650) { Restored::Garden } else { Restored::ControlPlane };
                Deed::PutBack { server, writes: dice.between(3, 80) }
            }
        };
        actions.push((at, Action::Past(deed)));
    }
    actions
}

fn lost(dice: &mut Dice) -> Deed {
    let most = dice.pick(&[2, 6, 6, 20]).unwrap_or(6);
    Deed::LoseCommits { commits: usize::try_from(dice.between(1, most)).unwrap_or(1) }
}

fn edit(dice: &mut Dice) -> FenceEdit {
    let edits = [
        FenceEdit::Delete,
        FenceEdit::Delete,
        FenceEdit::Empty,
        FenceEdit::OtherLedger,
        FenceEdit::HigherEpoch,
        FenceEdit::LowerEpoch,
        FenceEdit::OtherTerm,
        FenceEdit::UnknownEntry,
        FenceEdit::NoEntries,
        FenceEdit::Label,
    ];
    dice.pick(&edits).unwrap_or(FenceEdit::Delete)
}
