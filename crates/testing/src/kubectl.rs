//! kubectl, as a person would use it.

use crate::Outcome;
use std::{
    error::Error,
    fmt,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// kubectl for one cluster and namespace.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    namespace: Option<String>,
}

/// There is no kubectl to try with.
#[derive(Clone, Copy, Debug)]
pub struct NoKubectl;

impl fmt::Display for NoKubectl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("kubectl is not installed, and Go, which would build one, is not either")
    }
}

impl Error for NoKubectl {}

/// What kubectl said.
#[derive(Clone, Debug)]
pub struct Said {
    /// Whether it worked.
    pub ok: bool,
    /// On standard output.
    pub out: String,
    /// On standard error.
    pub err: String,
}

impl Kubectl {
    /// kubectl for the cluster of a kubeconfig file.
    pub fn new(program: &Path, kubeconfig: &Path) -> Self {
        Self { program: program.to_owned(), kubeconfig: kubeconfig.to_owned(), namespace: None }
    }

    /// The same for one namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Runs it with these arguments, and this text on standard input.
    pub fn run(&self, arguments: &[&str], input: &str) -> Result<Said, Box<dyn Error + Send + Sync>> {
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(&self.kubeconfig);
        if let Some(namespace) = &self.namespace {
            command.args(["--namespace", namespace]);
        }
        let mut process = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| -> Box<dyn Error + Send + Sync> {
                match error.kind() {
                    ErrorKind::NotFound => NoKubectl.into(),
                    _ => format!("cannot run {}: {error}", self.program.display()).into(),
                }
            })?;
        if let Some(mut stdin) = process.stdin.take() {
            stdin.write_all(input.as_bytes())?;
        }
        let Output { status, stdout, stderr } = process.wait_with_output()?;
        Ok(Said {
            ok: status.success(),
            out: String::from_utf8_lossy(&stdout).into_owned(),
            err: String::from_utf8_lossy(&stderr).into_owned(),
        })
    }

    /// Applies a text, and fails with what kubectl said if it does not like it.
    pub fn apply(&self, text: &str) -> Outcome {
        self.run(&["apply", "-f", "-"], text)?.expect_ok()
    }
}

impl Said {
    /// Fails unless it worked.
    pub fn expect_ok(self) -> Outcome {
        if self.ok { Ok(()) } else { Err(format!("kubectl failed: {}{}", self.out, self.err).into()) }
    }
}
