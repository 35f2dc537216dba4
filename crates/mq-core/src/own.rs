//! [`Own`]: parameters of structures that the library does not know.

use core::any::Any;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// Parameters of a structure of one's own, of any type: the library passes them on and does not look at them.
///
/// Set them in [`Tuning::own`](crate::Tuning::own); the structure asks for them where it is made, and takes defaults if
/// there are none of its type.
///
/// ```
/// use mq_core::config::Own;
/// use mq_core::{Config, Tuning};
///
/// struct RanksPerNode(u32);
///
/// // What `MatchQueues::with_config` and its kin do.
/// fn ranks_per_node(config: &Config) -> u32 {
///     config.tuning.own.get::<RanksPerNode>().map_or(1, |ranks| ranks.0)
/// }
///
/// let mut config = Config::default();
/// assert_eq!(ranks_per_node(&config), 1);
/// config.tuning = Tuning::default().with(|tuning| tuning.own = Own::new(RanksPerNode(64)));
/// assert_eq!(ranks_per_node(&config), 64);
/// ```
#[derive(Clone, Default)]
pub struct Own(Option<Arc<dyn Any + Send + Sync>>);

impl Own {
    /// These parameters. Copies share them.
    #[must_use]
    pub fn new<T: Any + Send + Sync>(parameters: T) -> Self {
        Self(Some(Arc::new(parameters)))
    }

    /// The parameters, if there are any, and of this type.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.as_deref()?.downcast_ref()
    }
}

/// They are read where a structure is made, and no panic comes in between.
impl UnwindSafe for Own {}
impl RefUnwindSafe for Own {}

/// The very same parameters, or none.
impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(mine), Some(theirs)) => Arc::ptr_eq(mine, theirs),
            (None, None) => true,
            _ => false,
        }
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Own(..)"
        } else {
            "Own(none)"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_by_their_type_and_equal_if_they_are_the_same() {
        let (none, five, also) = (Own::default(), Own::new(5_u32), Own::new(5_u32));
        assert_eq!((five.get::<u32>(), five.get::<i32>()), (Some(&5), None));
        assert_eq!(none.get::<u32>(), None);
        assert_eq!(none, Own::default());
        assert_eq!(five, five.clone());
        assert_ne!(five, also);
        assert_ne!(five, none);
        assert_eq!(format!("{none:?} {five:?}"), "Own(none) Own(..)");
    }
}
