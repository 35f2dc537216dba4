//! The table of `MQ_STATS=1`: what a process has sent and received, and how, when it leaves.

use core::fmt::Write;

use mq_shm::channel::Counters;

use crate::profile::Profile;

/// The table of one process; `how` names its structure and policy.
pub(crate) fn table(
    rank: u32,
    how: &str,
    profile: &Profile,
    counters: Option<&Counters>,
) -> String {
    let (sent, received) = (profile.sent(), profile.received);
    let mut table = Table(format!(
        "rank {rank}: {sent} messages sent, {received} received, with {how}"
    ));
    table.noted(
        "sent with their data",
        profile.eager,
        bytes(profile.eager_bytes),
    );
    table.noted(
        "sent ahead, through a ring",
        profile.ahead,
        bytes(profile.ahead_bytes),
    );
    table.noted(
        "announced",
        profile.rendezvous,
        bytes(profile.rendezvous_bytes),
    );
    table.line("  held back by their receivers", profile.held_back);
    table.noted(
        "waited for room",
        profile.deferred,
        share(profile.deferred, sent),
    );
    table.noted("received", received, bytes(profile.received_bytes));
    let (bypassed, unexpected) = (profile.bypassed, profile.unexpected);
    table.noted(
        "  taken by a waiting receive",
        bypassed,
        share(bypassed, received),
    );
    table.noted("  came unexpected", unexpected, share(unexpected, received));
    table.line("  read from their senders", profile.single_copy);
    table.line("  read from shared buffers", profile.shared_copy);
    table.line("  came through a ring", profile.ring);
    table.line("parts copied for receivers", profile.helped);
    if let Some(counters) = counters {
        table.of_the_transport(counters);
    }
    table.0
}

/// What has been written of it.
struct Table(String);

impl Table {
    /// A line of something that has happened: what never did is most of what could have.
    fn line(&mut self, name: &str, count: u64) {
        if count > 0 {
            let _ = write!(self.0, "\n  {name:<32}{count:>14}");
        }
    }

    /// The same with a remark.
    fn noted(&mut self, name: &str, count: u64, remark: impl core::fmt::Display) {
        if count > 0 {
            self.line(name, count);
            let _ = write!(self.0, "  {remark}");
        }
    }

    fn of_the_transport(&mut self, counters: &Counters) {
        let all = counters.messages();
        let (by_box, by_queue) = (counters.by_box(), counters.by_queue);
        self.noted(
            "messages of the transport",
            all,
            "answers and announcements included",
        );
        self.noted("  through fastboxes", by_box, share(by_box, all));
        self.noted("  through queues", by_queue, share(by_queue, all));
        self.sizes(counters);
        self.line("fastboxes to other processes", counters.boxes.into());
        self.line("cells", counters.cells.into());
        self.line("times that few cells were left", counters.low_water);
        self.line("times that no cell was left", counters.full);
    }

    /// How many messages there were of each size.
    fn sizes(&mut self, counters: &Counters) {
        let classes = (0..).zip(counters.by_size);
        let class = |(class, count): (u32, u64)| match class {
            0 => format!("{count} of 0"),
            1 => format!("{count} of 1"),
            _ => format!("{count} from {}", short(1 << (class - 1))),
        };
        let classes: Vec<String> = classes.filter(|(_, count)| *count > 0).map(class).collect();
        if !classes.is_empty() {
            let _ = write!(self.0, "\n    of bytes: {}", classes.join(", "));
        }
    }
}

/// A power of two in short.
fn short(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes}"),
        1024..0x10_0000 => format!("{}K", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{}M", bytes >> 20),
        _ => format!("{}G", bytes >> 30),
    }
}

#[expect(clippy::cast_precision_loss, reason = "for reading")]
fn bytes(bytes: u64) -> String {
    let scaled = |power: u32| bytes as f64 / f64::from(1_u32 << power);
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..0x10_0000 => format!("{:.1} KiB", scaled(10)),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", scaled(20)),
        _ => format!("{:.1} GiB", scaled(30)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "for reading")]
fn share(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_in_the_table_and_the_rest_is_not() {
        let profile = Profile {
            eager: 3,
            eager_bytes: 24,
            rendezvous: 1,
            rendezvous_bytes: 3 << 20,
            received: 8,
            received_bytes: 2048,
            unexpected: 2,
            ..Profile::default()
        };
        let said = table(2, "structure list, policy shared", &profile, None);
        let lines = [
            "rank 2: 4 messages sent, 8 received, with structure list, policy shared",
            "  sent with their data                         3  24 bytes",
            "  announced                                    1  3.0 MiB",
            "  received                                     8  2.0 KiB",
            "    came unexpected                            2  25.0 %",
        ];
        assert_eq!(said, lines.join("\n"));
        let nothing = table(0, "it", &Profile::default(), Some(&Counters::default()));
        assert_eq!(nothing, "rank 0: 0 messages sent, 0 received, with it");
    }

    #[test]
    fn sizes_are_told_by_powers_of_two() {
        let mut counters = Counters::default();
        for (class, count) in [(0, 5), (1, 6), (2, 7), (11, 8), (21, 9), (33, 1)] {
            counters.by_size[class] = count;
        }
        let said = table(0, "it", &Profile::default(), Some(&counters));
        let sizes = said.lines().last();
        let expected = "    of bytes: 5 of 0, 6 of 1, 7 from 2, 8 from 1K, 9 from 1M, 1 from 4G";
        assert_eq!(sizes, Some(expected));
    }
}
