//! System calls that fail, as under a container's filter.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch};

/// From now on a system call fails in this thread, with this error.
pub(crate) fn refuse(call: i64, error: i32) {
    answer(call, Vec::new(), SeccompAction::Errno(error as u32));
}

/// What a system call does in this thread from now on, if one of the rules is true, or there is
/// none.
pub(crate) fn answer(call: i64, rules: Vec<SeccompRule>, answer: SeccompAction) {
    let arch: TargetArch = std::env::consts::ARCH.try_into().expect("one with filters");
    let rules = BTreeMap::from([(call, rules)]);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}
