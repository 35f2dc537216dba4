//! `docs/variables.md` has a row for every variable of a world's options. The table of `mq_comm::Options` itself is
//! tested in its crate, which has no other document at hand when it is published.

use std::cell::RefCell;

use mq_comm::Options;

#[test]
fn every_variable_of_the_options_is_documented() {
    let names = RefCell::new(Vec::new());
    let _ = Options::default().with_environment(|name| {
        names.borrow_mut().push(name.to_owned());
        None
    });
    let names = names.into_inner();
    assert!(!names.is_empty());
    let document = include_str!("../../docs/variables.md");
    for name in names {
        assert!(document.contains(&format!("| `{name}` |")), "{name}");
    }
}
