//! Whether the process that writes a trace still runs.

use std::fs;
use std::path::Path;

use mq_trace::{Header, Process, Span};

/// What is known of the process that writes a trace.
#[derive(Debug, PartialEq)]
pub(super) enum Writer {
    /// It has closed its session, or it has ended. Or its header does not tell: then whether the file is open does.
    Done,
    /// It runs, and has the file open as far as this user may see.
    Runs,
    /// It has not closed its session, and its number means nothing here: it is on another machine, or in a container.
    /// The process in words.
    Elsewhere(String),
}

impl Writer {
    /// The writer of a trace whose library has not ended it early.
    pub(super) fn of(header: &Header, trace: &Path) -> Self {
        if Span::of(header) != Span::Unfinished {
            return Self::Done;
        }
        let Some(process) = Process::of(header) else {
            return Self::Elsewhere("its process".into());
        };
        if !process.shares_numbers_with(&Process::this()) {
            let (number, node) = (process.number(), process.node());
            return Self::Elsewhere(format!("process {number} of {node}"));
        }
        if runs(process.number(), trace) {
            Self::Runs
        } else {
            Self::Done
        }
    }
}

/// Whether a process of this number may have the trace open. Another of that number may have been started meanwhile,
/// or the same may have become another program: neither has.
fn runs(process: u32, trace: &Path) -> bool {
    let process = Path::new("/proc").join(process.to_string());
    let Ok(files) = process.join("fd").read_dir() else {
        // It may be another user's, or one that has ended and that nobody has waited for.
        return process.exists() && !is_over(&process);
    };
    let trace = trace.canonicalize().ok();
    let mut links = files.flatten().map(|file| file.path().read_link().ok());
    links.any(|link| link.is_some() && link == trace)
}

/// Whether a process, by its folder in `/proc`, has ended, though its number is still taken.
fn is_over(process: &Path) -> bool {
    let stat = fs::read(process.join("stat")).unwrap_or_default();
    // After the name, which is in parentheses and may contain any.
    let state = String::from_utf8_lossy(&stat)
        .rsplit_once(") ")
        .and_then(|(_, state)| state.chars().next());
    matches!(state, Some('Z' | 'X'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    #[test]
    fn a_process_that_has_ended_is_told_from_one_that_runs_and_from_one_elsewhere() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let of = |process: &str| {
            let header = Header::new().with(Process::KEY, process);
            Writer::of(&header.with(Span::KEY, Span::Unfinished), file.path())
        };
        let this = Process::this().to_string();
        assert_eq!(of(&this), Writer::Runs, "it has the file open");
        let (number, machine) = this.split_once(':').expect("more than a number");
        // The kernel gives no number from 2^22 on.
        assert_eq!(of(&format!("4194305:{machine}")), Writer::Done);
        let elsewhere = Writer::Elsewhere(format!("process {number} of n17"));
        assert_eq!(of(&format!("{number}:another:1:n17")), elsewhere);
        let unknown = Header::new().with(Span::KEY, Span::Unfinished);
        let unknown = Writer::of(&unknown, file.path());
        assert_eq!(unknown, Writer::Elsewhere("its process".into()));
        let whole = Header::new().with(Process::KEY, &this);
        assert_eq!(Writer::of(&whole, file.path()), Writer::Done);
        // It has become something else, or it is another of that number.
        let header = Header::new().with(Process::KEY, &this);
        let header = header.with(Span::KEY, Span::Unfinished);
        assert_eq!(Writer::of(&header, Path::new("/")), Writer::Done);
    }

    #[test]
    fn one_that_nobody_has_waited_for_is_over() {
        let mut cat = Command::new("cat");
        let mut child = cat.stdin(Stdio::piped()).spawn().expect("cat starts");
        let process = Path::new("/proc").join(child.id().to_string());
        assert!(!is_over(&process));
        child.kill().expect("it is ours");
        while !is_over(&process) {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.wait().expect("it has ended");
        assert!(!is_over(&process), "there is none");
    }
}
