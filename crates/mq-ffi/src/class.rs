//! Numbers of the traffic classes: the operation that a message belongs to. They are compiled into
//! callers, so they never change: a newly named class gets the next number, and `MQ_CLASS_END` moves. So does the
//! number of the front's layout, since the inline calls admit what they know.

use mq_core::TrafficClass;

/// Point-to-point traffic.
pub const MQ_CLASS_POINT_TO_POINT: u32 = 0;
/// Collective traffic that has no class of its own here.
pub const MQ_CLASS_OTHER_COLLECTIVE: u32 = 1;
/// `MPI_Allgather`.
pub const MQ_CLASS_ALLGATHER: u32 = 2;
/// `MPI_Allgatherv`.
pub const MQ_CLASS_ALLGATHERV: u32 = 3;
/// `MPI_Allreduce`.
pub const MQ_CLASS_ALLREDUCE: u32 = 4;
/// `MPI_Alltoall`.
pub const MQ_CLASS_ALLTOALL: u32 = 5;
/// `MPI_Alltoallv`.
pub const MQ_CLASS_ALLTOALLV: u32 = 6;
/// `MPI_Alltoallw`.
pub const MQ_CLASS_ALLTOALLW: u32 = 7;
/// `MPI_Barrier`.
pub const MQ_CLASS_BARRIER: u32 = 8;
/// `MPI_Bcast`.
pub const MQ_CLASS_BROADCAST: u32 = 9;
/// `MPI_Exscan`.
pub const MQ_CLASS_EXSCAN: u32 = 10;
/// `MPI_Gather`.
pub const MQ_CLASS_GATHER: u32 = 11;
/// `MPI_Gatherv`.
pub const MQ_CLASS_GATHERV: u32 = 12;
/// `MPI_Reduce`.
pub const MQ_CLASS_REDUCE: u32 = 13;
/// `MPI_Reduce_scatter`.
pub const MQ_CLASS_REDUCE_SCATTER: u32 = 14;
/// `MPI_Reduce_scatter_block`.
pub const MQ_CLASS_REDUCE_SCATTER_BLOCK: u32 = 15;
/// `MPI_Scan`.
pub const MQ_CLASS_SCAN: u32 = 16;
/// `MPI_Scatter`.
pub const MQ_CLASS_SCATTER: u32 = 17;
/// `MPI_Scatterv`.
pub const MQ_CLASS_SCATTERV: u32 = 18;
/// One more than the largest class number of a message, in this version of the header.
pub const MQ_CLASS_END: u32 = 19;
/// A pattern that may match several classes, or whose class is in doubt. No message has it.
pub const MQ_CLASS_UNKNOWN: u32 = u32::MAX;

/// Whether a message may have this class.
#[inline(always)]
pub(crate) const fn is_of_messages(number: u32) -> bool {
    number < MQ_CLASS_END
}

/// Whether a pattern may have this class.
#[inline(always)]
pub(crate) const fn is_of_patterns(number: u32) -> bool {
    // One comparison for both: for the unknown class, 0 is left.
    number.wrapping_add(1) <= MQ_CLASS_END
}

/// The class of this number.
#[inline(always)]
pub(crate) const fn read(number: u32) -> Option<TrafficClass> {
    if number < MQ_CLASS_END {
        TrafficClass::numbered(number)
    } else if number == MQ_CLASS_UNKNOWN {
        Some(TrafficClass::Unknown)
    } else {
        None
    }
}

/// The number of this class.
#[inline(always)]
pub(crate) const fn number(class: TrafficClass) -> u32 {
    match class {
        TrafficClass::Unknown => MQ_CLASS_UNKNOWN,
        class => class as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_a_number_that_stays() {
        let numbers = [
            (MQ_CLASS_POINT_TO_POINT, TrafficClass::PointToPoint),
            (MQ_CLASS_OTHER_COLLECTIVE, TrafficClass::OtherCollective),
            (MQ_CLASS_ALLGATHER, TrafficClass::Allgather),
            (MQ_CLASS_ALLGATHERV, TrafficClass::Allgatherv),
            (MQ_CLASS_ALLREDUCE, TrafficClass::Allreduce),
            (MQ_CLASS_ALLTOALL, TrafficClass::Alltoall),
            (MQ_CLASS_ALLTOALLV, TrafficClass::Alltoallv),
            (MQ_CLASS_ALLTOALLW, TrafficClass::Alltoallw),
            (MQ_CLASS_BARRIER, TrafficClass::Barrier),
            (MQ_CLASS_BROADCAST, TrafficClass::Broadcast),
            (MQ_CLASS_EXSCAN, TrafficClass::Exscan),
            (MQ_CLASS_GATHER, TrafficClass::Gather),
            (MQ_CLASS_GATHERV, TrafficClass::Gatherv),
            (MQ_CLASS_REDUCE, TrafficClass::Reduce),
            (MQ_CLASS_REDUCE_SCATTER, TrafficClass::ReduceScatter),
            (
                MQ_CLASS_REDUCE_SCATTER_BLOCK,
                TrafficClass::ReduceScatterBlock,
            ),
            (MQ_CLASS_SCAN, TrafficClass::Scan),
            (MQ_CLASS_SCATTER, TrafficClass::Scatter),
            (MQ_CLASS_SCATTERV, TrafficClass::Scatterv),
            (MQ_CLASS_UNKNOWN, TrafficClass::Unknown),
        ];
        assert_eq!(numbers.len(), TrafficClass::COUNT);
        for (known, class) in numbers {
            assert_eq!(number(class), known, "{class}");
            assert_eq!(read(known), Some(class), "{class}");
            assert!(is_of_patterns(known), "{class}");
            assert_eq!(
                is_of_messages(known),
                class != TrafficClass::Unknown,
                "{class}"
            );
        }
        for (stays, known) in (0..).zip(&numbers[..numbers.len() - 1]) {
            assert_eq!(
                known.0, stays,
                "the order of the declarations is that of the numbers"
            );
        }
    }

    #[test]
    fn other_numbers_are_no_class() {
        for number in [
            MQ_CLASS_END,
            MQ_CLASS_END + 1,
            255,
            1 << 31,
            MQ_CLASS_UNKNOWN - 1,
        ] {
            assert_eq!(read(number), None, "{number}");
            assert!(
                !is_of_patterns(number) && !is_of_messages(number),
                "{number}"
            );
        }
    }
}
