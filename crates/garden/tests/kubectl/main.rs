//! What a person sees who types the same kubectl commands at the embedded API server and at the real one.
//!
//! `cargo test -p allotment-garden --test kubectl` runs it; filters and `--list` work as with any test. Besides:
//! `--differences` prints the table of differences, `--show` what was said.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these are tests"
)]

mod differences;
mod normal;
mod scene;
mod stage;

use libtest_mimic::{Arguments, Trial};
use scene::Scene;
use stage::Stage;
use std::{process::ExitCode, sync::Arc};

/// kubectl mostly waits for a server.
const SCENES_AT_A_TIME: usize = 4;

fn scenes() -> Vec<Scene> {
    [
        ("access", include_str!("scenes/access.txt")),
        ("applying", include_str!("scenes/applying.txt")),
        ("changing", include_str!("scenes/changing.txt")),
        ("custom", include_str!("scenes/custom.txt")),
        ("discovery", include_str!("scenes/discovery.txt")),
        ("explaining", include_str!("scenes/explaining.txt")),
        ("garden", include_str!("scenes/garden.txt")),
        ("getting", include_str!("scenes/getting.txt")),
        ("making", include_str!("scenes/making.txt")),
        ("policies", include_str!("scenes/policies.txt")),
        ("waiting", include_str!("scenes/waiting.txt")),
    ]
    .map(|(name, text)| Scene::read(name, text))
    .into()
}

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().collect();
    let mut take = |word: &str| {
        let before = words.len();
        words.retain(|other| other != word);
        words.len() < before
    };
    let show = take("--show");
    if take("--differences") {
        print!("{}", differences::table(&scenes()));
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_iter(words);
    arguments.test_threads.get_or_insert(SCENES_AT_A_TIME);
    let stage = Arc::new(Stage::new(show));
    let mut trials =
        vec![Trial::test("differences_are_those_of_the_readme", || differences::check(&scenes()))];
    for scene in scenes() {
        let stage = stage.clone();
        trials.push(Trial::ignorable_test(scene.name, move || stage.play(&scene)));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(stage) = Arc::into_inner(stage) {
        stage.leave();
    }
    conclusion.exit_code()
}
