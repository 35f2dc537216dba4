//! Running `mq` and inspecting its output.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The results of a run of `mq`.
pub(crate) struct Run {
    /// The exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Run {
    /// Standard output as JSON: a list of objects.
    pub(crate) fn objects(&self) -> Vec<Value> {
        serde_json::from_str(&self.stdout).expect("stdout is one JSON array")
    }

    /// Asserts that the run failed with exit code 2 and gave the reason in one sentence, without panic;
    /// returns the sentence.
    pub(crate) fn refusal(&self) -> &str {
        assert_eq!(self.code, 2, "{}", self.stderr);
        assert_eq!(self.stdout, "");
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        let sentence = self
            .stderr
            .strip_prefix("mq: ")
            .expect("it begins with mq:");
        sentence.trim_end()
    }
}

/// A command that has not run yet.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mq"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs `mq` to its end.
pub(crate) fn mq(args: &[&str]) -> Run {
    let Output {
        status,
        stdout,
        stderr,
    } = command(args).output().expect("mq starts");
    Run {
        code: status.code().expect("mq is not killed"),
        stdout: String::from_utf8(stdout).expect("UTF-8"),
        stderr: String::from_utf8(stderr).expect("UTF-8"),
    }
}

/// What a command prints up to the end of the first object of a list, while it goes on.
pub(crate) fn first_object(stdout: &mut impl Read) -> String {
    let mut text = String::new();
    while !text.ends_with("\n  }") {
        let mut byte = [0];
        stdout.read_exact(&mut byte).expect("an object comes");
        text.push(char::from(byte[0]));
    }
    text
}

/// The path of a real trace.
pub(crate) fn real(name: &str) -> String {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces");
    text(&traces.join(format!("{name}.mqt.gz")))
}

/// A folder for one test, and the path of a file in it with this content.
pub(crate) fn file(name: &str, content: impl AsRef<[u8]>) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("the file is written");
    (folder, text(&path))
}

/// The path of a file that does not exist yet, in a folder for one test.
pub(crate) fn fresh(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    (folder, path)
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> String {
    path.to_str().expect("test paths are UTF-8").to_owned()
}

/// A plot's text.
pub(crate) fn svg(path: &Path) -> String {
    let svg = std::fs::read_to_string(path).expect("the plot was written");
    assert!(svg.starts_with("<svg"), "{}", &svg[..svg.len().min(80)]);
    assert!(svg.trim_end().ends_with("</svg>"));
    svg
}
