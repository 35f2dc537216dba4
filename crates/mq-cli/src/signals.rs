//! How this process was told to treat signals, and how it treats them.

use std::time::Duration;

/// A signal repeated this soon does not count: `timeout` sends it to the process and then to the process's group.
pub(crate) const THE_SAME: Duration = Duration::from_secs(1);

/// Whether a signal was ignored when this process began: those that `nohup` ignores stay ignored, here and in what it
/// starts.
#[cfg(target_os = "linux")]
pub(crate) fn is_ignored(signal: i32) -> bool {
    crate::run::ignored()(signal)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_ignored(_signal: i32) -> bool {
    false
}

/// A signal's number, and its name if it has one.
pub(crate) fn describe(signal: i32) -> String {
    match signal_hook::low_level::signal_name(signal) {
        Some(name) => format!("signal {signal} ({name})"),
        None => format!("signal {signal}"),
    }
}

/// Ends this process as SIGINT does, with the same exit code for a shell as if it had ended by itself: a script goes on
/// after what has dealt with Ctrl-C, and ends after what died of it.
#[cfg(unix)]
pub(crate) fn die_of_interrupt() {
    die_of(signal_hook::consts::SIGINT);
}

/// Ends this process as the signal does; returns if that fails.
#[cfg(unix)]
pub(crate) fn die_of(signal: i32) {
    // The first process of a container is not ended by its own signals, whatever is tried for it.
    if std::process::id() != 1 {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
}

#[cfg(not(unix))]
pub(crate) fn die_of_interrupt() {}
