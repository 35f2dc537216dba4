//! The working directory of a test of `mq record`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Run, mq, text};

/// A folder to work in, with an output directory that does not exist yet.
pub(super) struct Workplace {
    pub(super) folder: tempfile::TempDir,
}

impl Workplace {
    pub(super) fn new() -> Self {
        // Where its scripts can be run: temporary folders may be mounted noexec.
        let target = env!("CARGO_TARGET_TMPDIR");
        fs::create_dir_all(target).expect("made");
        let folder = tempfile::tempdir_in(target).expect("a temporary folder");
        Self { folder }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("in the folder")).expect("made");
        fs::write(&path, content).expect("written");
        path
    }

    fn script(&self, name: &str, content: &str) -> PathBuf {
        let source = self.write(&format!("{name}.sh"), &format!("#!/bin/sh\n{content}"));
        let path = self.path(name);
        // Another process makes the file: a file that this process has written may be busy, because a
        // concurrent test may be starting a process.
        let mut install = Command::new("install");
        let installed = install.args(["-m", "755"]).args([&source, &path]).status();
        assert!(installed.expect("install starts").success());
        path
    }

    /// Something that looks like an installed Open MPI; its `mpirun` drops `-n N`, prints what it found
    /// in the environment, and runs the rest.
    pub(super) fn prefix(&self) -> String {
        self.write("mpi/lib/libmpi.so", "");
        self.write("mpi/lib/libopen-pal.so.80", "");
        let mpirun = "for name in PATH LD_LIBRARY_PATH OPAL_PREFIX MQ_STRUCTURE; do\n\
                      eval echo \"$name=\\$$name\"\ndone\nshift 2\nexec \"$@\"\n";
        self.script("mpi/bin/mpirun", mpirun);
        text(&self.path("mpi"))
    }

    /// A script that writes each of these traces, and its path.
    pub(super) fn application(&self, traces: &[(&str, &str)], then: &str) -> String {
        let mut script = String::new();
        for (i, (name, content)) in traces.iter().enumerate() {
            let source = text(&self.write(&format!("source-{i}"), content));
            script += &format!("cp '{source}' \"$MQ_TRACE/{name}\"\n");
        }
        text(&self.script("app", &(script + then)))
    }

    pub(super) fn output(&self) -> String {
        text(&self.path("out"))
    }

    /// The names in the output directory.
    pub(super) fn collected(&self) -> Vec<String> {
        names(&self.path("out"))
    }

    /// Whether there is no output directory.
    pub(super) fn has_no_output(&self) -> bool {
        !self.path("out").exists()
    }

    /// `mq record --output OUT options... -- app`.
    pub(super) fn record(&self, options: &[&str], app: &[&str]) -> Run {
        let output = self.output();
        mq(&[&["record", "--output", &output], options, &["--"], app].concat())
    }
}

/// The names in a directory.
pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = directory.read_dir().expect("the directory is there");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    names.sort();
    names
}
