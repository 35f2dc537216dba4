use std::sync::Arc;

use super::*;
use crate::engine::{CommonBudget, Terms};
use crate::mpi::MpiPattern;
use crate::shared::Sharding;
use crate::structures::Indexed;
use crate::{Budget, Config, ContextOptions};

#[test]
fn every_operation_for_any_source_counts_against_dividing() {
    let id = ContextId(0);
    for budget in [Budget::UNLIMITED, Budget::UNLIMITED.entries(9)] {
        let budget = CommonBudget::new(budget, None).map(Arc::new);
        let context: Context<Indexed<MpiPattern, u32, u32>> =
            Context::new(id, Sharding::new(), budget);
        let terms = Terms::new(id, &ContextOptions::new());
        context.begin(terms, Config::default()).unwrap();
        let any = MpiPattern::new(0, Source::Any, 7);
        let _ = context.post(None, any, 0).unwrap();
        context.find_with(None, &any, |_, _, _| ()).unwrap();
        context.extract(None, &any).unwrap();
        let _ = context.post(None, MpiPattern::new(0, 1, 7), 0).unwrap();
        assert_eq!(context.undivided().pressure.wildcards(), 3);
        // One that is refused does not.
        let refused = context.post(Some(99), any, 0);
        assert!(refused.is_err());
        assert_eq!(context.undivided().pressure.wildcards(), 3);
    }
}
