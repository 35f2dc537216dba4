//! How this process was told to treat signals.

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
