//! The board as people see it: a picture that stays in its place at a terminal, a line for each change elsewhere.

use super::board::{Board, Section, Sighting, group};
use crate::output::{self, Paint};
use anyhow::Result;
use jiff::{Zoned, tz::TimeZone};
use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, IsTerminal},
    time::Duration,
};
use terminal_size::{Height, Width, terminal_size};

/// As much of what happened stays in the picture.
const NEWS: usize = 8;

/// A picture is drawn at most so often: a person does not see more.
pub(super) const REDRAW: Duration = Duration::from_millis(100);

/// Shows what is seen.
pub(super) struct View {
    board: Board,
    news: VecDeque<String>,
    /// Whether there is a terminal to draw on.
    is_picture: bool,
    /// Whether the picture is not as things are.
    is_stale: bool,
    /// How many lines of the terminal are the picture's.
    lines: usize,
    paint: Paint,
}

impl View {
    /// A picture if standard output is a terminal, and `wanted`.
    pub(super) fn new(wanted: bool) -> Self {
        let paint = Paint::for_standard_output();
        let is_picture = wanted && io::stdout().is_terminal() && paint.is_on();
        Self { board: Board::default(), news: VecDeque::new(), is_picture, is_stale: true, lines: 0, paint }
    }

    /// Something was seen. What is there at the start is not news, but for what is under way.
    pub(super) fn see(&mut self, seen: Vec<Sighting>) -> Result<()> {
        for sighting in seen {
            let at_rest = sighting.section == Section::Account && sighting.state.is_some();
            let is_first = self.board.rows(sighting.section).all(|(name, _)| name != sighting.name);
            match self.board.see(sighting) {
                Some(told) if !(at_rest && is_first) => self.tell(&told)?,
                Some(_) => self.is_stale = true,
                None => (),
            }
        }
        Ok(())
    }

    /// Something else happened.
    pub(super) fn tell(&mut self, what: &str) -> Result<()> {
        let line =
            format!("{}  {what}", Zoned::now().with_time_zone(TimeZone::system()).strftime("%H:%M:%S"));
        if !self.is_picture {
            return output::print(&format!("{line}\n"));
        }
        self.news.push_back(line);
        if self.news.len() > NEWS {
            self.news.pop_front();
        }
        self.is_stale = true;
        Ok(())
    }

    /// Draws the picture over the last one, if it is another.
    pub(super) fn draw(&mut self) -> Result<()> {
        // Without its accounts a pool is not known yet.
        let is_known = self.board.rows(Section::Account).next().is_some();
        if !self.is_picture || !is_known || !std::mem::take(&mut self.is_stale) {
            return Ok(());
        }
        let (Width(width), Height(height)) = terminal_size().unwrap_or((Width(80), Height(24)));
        let picture = self.picture(usize::from(width), usize::from(height).saturating_sub(2));
        let back = match self.lines {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\x1b[J"),
        };
        self.lines = picture.len();
        output::print(&format!("{back}{}\n", picture.join("\n")))
    }

    fn picture(&self, width: usize, height: usize) -> Vec<String> {
        let mut lines = vec![self.paint.bold("accounts")];
        let mut counts = BTreeMap::new();
        for (_, state) in self.board.rows(Section::Account) {
            *counts.entry(group(state)).or_insert(0_usize) += 1;
        }
        let total: usize = counts.values().sum();
        let groups: Vec<String> = counts.iter().map(|(group, count)| format!("{count} {group}")).collect();
        lines.push(fit(&format!("  {total}: {}", groups.join(", ")), width));
        for section in Section::ALL {
            let rows: Vec<_> = self
                .board
                .rows(section)
                .filter(|(_, state)| {
                    section != Section::Account || !matches!(group(state), "free" | "shared" | "internal")
                })
                .collect();
            if section != Section::Account && !rows.is_empty() {
                lines.push(self.paint.bold(&format!("{}s", section.name())));
            }
            let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
            lines.extend(rows.iter().map(|(name, state)| fit(&format!("  {name:<widest$}  {state}"), width)));
        }
        // What happened is what moves: it has its room, and the rest is cut off.
        let room = height.saturating_sub(self.news.len() + 1);
        if lines.len() > room {
            lines.truncate(room.saturating_sub(1));
            lines.push(self.paint.dim(&fit("  and more; make the window taller", width)));
        }
        lines.push(self.paint.bold("what happens"));
        lines.extend(self.news.iter().map(|line| fit(&format!("  {line}"), width)));
        lines
    }
}

/// As much of a line as fits: one that goes on in the next would push the picture out of its place.
fn fit(line: &str, width: usize) -> String {
    line.chars().take(width.saturating_sub(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_account_is_counted_once() {
        let mut view = View { paint: Paint::none(), is_picture: true, ..View::new(false) };
        let states = [
            "free",
            "free",
            "shared",
            "internal",
            "of tenant acme",
            "dirty: to be cleaned",
            "in quarantine, why",
        ];
        let seen = |(n, state): (usize, &&str)| Sighting {
            section: Section::Account,
            name: format!("a{n}"),
            state: Some((*state).to_owned()),
        };
        view.see(states.iter().enumerate().map(seen).collect()).unwrap();
        let counted = "  7: 1 dirty, 2 free, 1 in quarantine, 1 internal, 1 of tenants, 1 shared";
        assert_eq!(view.picture(100, 30)[1], counted);
        assert!(view.news.is_empty(), "what is there at the start is no news");
    }

    #[test]
    fn a_picture_fits() {
        let mut view = View { paint: Paint::none(), is_picture: true, ..View::new(false) };
        for n in 0..40 {
            let state = Some(format!("Creating in aws-{n:02}, 40 %: {}", "words ".repeat(30)));
            view.see(vec![Sighting { section: Section::Cluster, name: format!("c{n}"), state }]).unwrap();
        }
        for (width, height) in [(80, 22), (200, 60), (20, 10)] {
            let picture = view.picture(width, height);
            assert!(picture.len() <= height.max(NEWS + 2), "{width} x {height}: {}", picture.len());
            assert!(picture.iter().all(|line| line.chars().count() < width), "{picture:#?}");
            let news = &"cluster c39"[..(width - 13).min(11)];
            assert!(picture.last().unwrap().contains(news), "{picture:#?}");
        }
    }
}
