//! Queue lengths over time, thinned out for a plot.

/// The most points of a curve: about one per pixel.
const POINTS: usize = 800;

/// The queue lengths of one trace: the longest in each stretch of operations.
pub(crate) struct Lengths {
    /// The trace's name.
    pub(crate) trace: String,
    /// Operations in the trace.
    pub(crate) operations: usize,
    /// Operations in a stretch; the last stretch may have fewer.
    pub(crate) stretch: usize,
    /// The most posted receives queued in each stretch.
    pub(crate) posted: Vec<usize>,
    /// The most unexpected messages queued in each stretch.
    pub(crate) unexpected: Vec<usize>,
}

impl Lengths {
    /// No lengths yet, for a trace with this many operations.
    pub(super) fn new(name: &str, operations: usize) -> Self {
        let stretch = operations.div_ceil(POINTS).max(1);
        let points = operations.div_ceil(stretch);
        Self {
            trace: name.into(),
            operations,
            stretch,
            posted: vec![0; points],
            unexpected: vec![0; points],
        }
    }

    /// Adds what was queued after an operation, which is numbered from 0.
    pub(super) fn add(&mut self, operation: usize, posted: usize, unexpected: usize) {
        let point = operation / self.stretch;
        let longer = |points: &mut [usize], length| points[point] = points[point].max(length);
        longer(&mut self.posted, posted);
        longer(&mut self.unexpected, unexpected);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_survive_thinning_out() {
        let mut lengths = Lengths::new("t", 5001);
        for operation in 0..5001 {
            let posted = usize::from(operation == 3000) * 7;
            let unexpected = usize::from(operation == 5000) * 9;
            lengths.add(operation, posted, unexpected);
        }
        assert_eq!((lengths.stretch, lengths.posted.len()), (7, 715));
        assert_eq!(lengths.posted[428], 7);
        assert_eq!(lengths.unexpected[714], 9);
    }
}
