//! Numbers of the traffic classes: what operation a message belongs to.

/// Point-to-point traffic.
pub const MQ_CLASS_POINT_TO_POINT: u32 = 0;
/// Traffic of this collective.
pub const MQ_CLASS_ALLGATHER: u32 = 1;
/// Traffic of this collective.
pub const MQ_CLASS_ALLGATHERV: u32 = 2;
/// Traffic of this collective.
pub const MQ_CLASS_ALLREDUCE: u32 = 3;
/// Traffic of this collective.
pub const MQ_CLASS_ALLTOALL: u32 = 4;
/// Traffic of this collective.
pub const MQ_CLASS_ALLTOALLV: u32 = 5;
/// Traffic of this collective.
pub const MQ_CLASS_ALLTOALLW: u32 = 6;
/// Traffic of this collective.
pub const MQ_CLASS_BARRIER: u32 = 7;
/// Traffic of this collective.
pub const MQ_CLASS_BROADCAST: u32 = 8;
/// Traffic of this collective.
pub const MQ_CLASS_EXSCAN: u32 = 9;
/// Traffic of this collective.
pub const MQ_CLASS_GATHER: u32 = 10;
/// Traffic of this collective.
pub const MQ_CLASS_GATHERV: u32 = 11;
/// Traffic of this collective.
pub const MQ_CLASS_REDUCE: u32 = 12;
/// Traffic of this collective.
pub const MQ_CLASS_REDUCE_SCATTER: u32 = 13;
/// Traffic of this collective.
pub const MQ_CLASS_REDUCE_SCATTER_BLOCK: u32 = 14;
/// Traffic of this collective.
pub const MQ_CLASS_SCAN: u32 = 15;
/// Traffic of this collective.
pub const MQ_CLASS_SCATTER: u32 = 16;
/// Traffic of this collective.
pub const MQ_CLASS_SCATTERV: u32 = 17;
/// Collective traffic without a name here.
pub const MQ_CLASS_OTHER_COLLECTIVE: u32 = 18;
/// A pattern that may match several classes, or whose class is in doubt. Never a message's.
pub const MQ_CLASS_UNKNOWN: u32 = 19;

#[cfg(test)]
mod tests {
    use super::*;
    use mq_core::TrafficClass;

    #[test]
    fn the_numbers_are_those_of_the_engine() {
        for (number, class) in [
            (MQ_CLASS_POINT_TO_POINT, TrafficClass::PointToPoint),
            (MQ_CLASS_ALLREDUCE, TrafficClass::Allreduce),
            (MQ_CLASS_BROADCAST, TrafficClass::Broadcast),
            (MQ_CLASS_SCATTERV, TrafficClass::Scatterv),
            (MQ_CLASS_UNKNOWN, TrafficClass::Unknown),
        ] {
            assert_eq!(number, class as u32, "{class}");
        }
        assert_eq!(MQ_CLASS_UNKNOWN as usize + 1, TrafficClass::COUNT);
    }
}
