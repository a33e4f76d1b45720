//! Scenes: commands one after the other, as somebody would type them.
//!
//! A line is a command for the shell; lines below it that are indented are its standard input. `! ` before it says that
//! it fails, `# differs: …` on the line above that the two servers differ in it on purpose, and why.

/// Commands one after the other.
pub struct Scene {
    pub name: &'static str,
    pub steps: Vec<Step>,
}

/// One command.
#[derive(Default)]
pub struct Step {
    pub command: String,
    pub input: String,
    pub fails: bool,
    pub differs: Option<String>,
}

const INDENT: &str = "    ";

impl Scene {
    /// Whether it is played in a garden, and not on a control plane.
    pub fn in_garden(&self) -> bool {
        self.name == "garden"
    }

    pub fn read(name: &'static str, text: &str) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        let mut differs = None;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if let Some(input) = line.strip_prefix(INDENT) {
                let step = steps.last_mut().expect("input comes after a command");
                step.input += input;
                step.input.push('\n');
            } else if let Some(why) = line.strip_prefix("# differs: ") {
                differs = Some(why.to_owned());
            } else if !line.starts_with('#') {
                let (command, fails) = line.strip_prefix("! ").map_or((line, false), |rest| (rest, true));
                let command = command.to_owned();
                steps.push(Step { command, fails, differs: differs.take(), ..Step::default() });
            }
        }
        Self { name, steps }
    }
}
