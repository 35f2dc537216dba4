//! The commands that the crate's README shows.

use crate::support::command;

#[test]
fn the_commands_of_the_readme_succeed_one_after_the_other() {
    let readme = include_str!("../../README.md");
    let (_, shown) = readme.split_once("```sh\n").expect("commands");
    let (shown, _) = shown.split_once("```").expect("their end");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for line in shown.lines() {
        let (line, _) = line.split_once('#').expect("an explanation");
        let arguments = line.strip_prefix("mq ").expect("a command");
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let output = command(&arguments).current_dir(&folder).output();
        let output = output.expect("mq starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
    }
}
