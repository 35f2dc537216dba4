//! `mq pingpong`, `bandwidth`, `rate`, `halo` and `calls` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{Format, svg_file};
use crate::binding::CoreList;

/// The longest message: more is taken for a typing error, and memory might not suffice.
const LONGEST: usize = 1 << 30;
/// The most elements of a border.
const WIDEST: usize = 10_000_000;

/// Options of all five.
#[derive(Args, Debug, Clone)]
pub(crate) struct NodeOptions {
    /// Samples per row, 1 to 100,000; a row gives their median and best
    #[arg(long, default_value = "20", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) samples: u32,
    /// Approximate length of a sample in microseconds, 1 to 10,000,000
    #[arg(long, default_value = "2000", value_name = "MICROSECONDS",
        value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) block: u64,
    /// Output format; json is one object per line
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Also plot the rows in an SVG file (its name must end in .svg)
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file())]
    pub(crate) plot: Option<PathBuf>,
    /// Do not bind the processes; otherwise each is bound to its own core, or neighbouring ranks share one
    /// if there are more processes than cores
    #[arg(long)]
    pub(crate) unbound: bool,
    /// Cores to bind the processes to, in rank order, such as 0,2 or 4-7; otherwise the first that mq may
    /// use
    #[arg(long, value_name = "LIST", conflicts_with = "unbound")]
    pub(crate) cores: Option<CoreList>,
}

impl NodeOptions {
    pub(crate) fn block(&self) -> Duration {
        Duration::from_micros(self.block)
    }
}

const SWITCHES: &str = "\
The distance between two cores dominates the cost of a message: the first line of a table, and \
\"cores\" in json, say which were used (null: not bound). Rows are printed as they are measured. In \
json each row also says whether it used \"shared_buffers\", its \"window\" if there is one, and in \
\"settings\" which variables of mq-comm were set and accepted. A measurement that is stopped, as by \
Ctrl-C, or fails plots the rows that it has.

Each path can be switched off to see what it gains: MQ_BYPASS=0, MQ_FASTBOX=0, MQ_AHEAD_LIMIT=0, \
MQ_SINGLE_COPY=0, MQ_COOPERATIVE_COPY=0, MQ_SHARED_COPY=0. MQ_POLICY (per-peer, adaptive+per-peer, \
adaptive+shared, shared), MQ_EAGER_LIMIT, MQ_SINGLE_COPY_FROM (bytes, or auto: whichever is faster), \
MQ_NONTEMPORAL_FROM, MQ_PATIENCE and MQ_STRUCTURE select alternatives; a policy and a structure may have \
parameters, as in per-peer:credits=8 and bins:bins=64. MQ_STATS=1 prints what each \
process sent and received, and how. The processes are started by \
the command itself, or by `mq run`, mpirun, srun or flux run.

Exit codes: 0 success, 2 bad usage or the wrong number of processes; otherwise as for `mq run`, whose \
ranks the processes are.
";

/// Options of `mq pingpong`.
#[derive(Args, Debug)]
#[command(allow_negative_numbers = true, after_help = format!("{SWITCHES}
Examples:
  mq pingpong
  mq pingpong --sizes 0,8,128 --format json
  mq pingpong --sizes 8 --cores 0,1
  MQ_FASTBOX=0 mq pingpong --sizes 8 --plot latency.svg"))]
pub(crate) struct PingpongOptions {
    /// Message sizes in bytes, 1G at most; suffixes K, M and G are powers of 1,024
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = bytes,
        value_name = "BYTES,...",
        default_value = "0,1,2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144,524288,1048576,2097152,4194304"
    )]
    pub(crate) sizes: Vec<usize>,
    /// Send from shared buffers: messages longer than the eager limit are copied out of them once, or go
    /// through a ring if that is measured to be faster
    #[arg(long)]
    pub(crate) shared_buffers: bool,
    #[command(flatten)]
    pub(crate) node: NodeOptions,
}

/// Traffic patterns of `mq bandwidth`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum By {
    /// Many messages at once, acknowledged together
    Window,
    /// One message at a time, there and back
    Pingpong,
    /// Like pingpong, but the sender first writes every cache line of the message; that time counts
    Rewritten,
    /// Windows both ways at the same time, receives posted first; the bytes of both directions count
    Exchange,
}

impl By {
    /// Whether several messages are received at a time.
    pub(crate) const fn has_windows(self) -> bool {
        matches!(self, Self::Window | Self::Exchange)
    }

    /// Its name in rows.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Pingpong => "pingpong",
            Self::Rewritten => "rewritten",
            Self::Exchange => "exchange",
        }
    }
}

/// Options of `mq bandwidth`.
#[derive(Args, Debug)]
#[command(allow_negative_numbers = true, after_help = format!("{SWITCHES}
Examples:
  mq bandwidth
  mq bandwidth --shared-buffers
  mq bandwidth --by pingpong,rewritten --sizes 1M
  mq bandwidth --by exchange --sizes 8,1K,64K
  MQ_SINGLE_COPY=0 mq bandwidth --sizes 65536,4194304 --format json"))]
pub(crate) struct BandwidthOptions {
    /// Message sizes in bytes, 1G at most; suffixes K, M and G are powers of 1,024
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = bytes,
        value_name = "BYTES,...",
        default_value = "16384,32768,65536,131072,262144,524288,1048576,2097152,4194304"
    )]
    pub(crate) sizes: Vec<usize>,
    /// Send from shared buffers: messages longer than the eager limit are copied out of them once, or go
    /// through a ring if that is measured to be faster
    #[arg(long)]
    pub(crate) shared_buffers: bool,
    /// Traffic patterns to measure
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "NAME,...",
        default_value = "window,pingpong,rewritten"
    )]
    pub(crate) by: Vec<By>,
    /// Messages between two acknowledgements, 1 to 65,536; in an exchange the most each way, and no more than fit into
    /// 4 MiB, but at least two [default: 64]
    #[arg(long, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=65_536))]
    window: Option<u32>,
    #[command(flatten)]
    pub(crate) node: NodeOptions,
}

impl BandwidthOptions {
    /// Messages in a window.
    pub(crate) fn window(&self) -> u32 {
        self.window.unwrap_or(64)
    }

    /// Whether several messages are received at a time.
    pub(crate) fn has_windows(&self) -> bool {
        self.by.iter().any(|by| by.has_windows())
    }

    /// # Errors
    /// If an option is given that no requested measurement uses.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.window {
            Some(_) if !self.has_windows() => {
                Err("--window needs `--by window` or `--by exchange`".into())
            }
            _ => Ok(()),
        }
    }
}

/// Options of `mq rate`.
#[derive(Args, Debug)]
#[command(allow_negative_numbers = true, after_help = format!("{SWITCHES}
In each row the receiver and its senders have cores of their own, which the row names; they share cores \
only if there are too few. All rows come from one run, with as many processes as the most senders need: \
those that a row does not need wait on cores that the row may use, and if that makes more processes than \
cores, all yield their core early. For figures of few senders alone, measure each number in its own run.

Examples:
  mq rate
  mq rate --senders 1,2,3 --size 8 --format json"))]
pub(crate) struct RateOptions {
    /// Senders per receiver, 1 to 1,000
    #[arg(long, value_delimiter = ',', value_name = "N,...", default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) senders: Vec<u32>,
    /// Message size in bytes, 1G at most; suffixes K, M and G are powers of 1,024
    #[arg(long, default_value = "8", value_parser = bytes, value_name = "BYTES")]
    pub(crate) size: usize,
    /// Messages per sender between two acknowledgements, 1 to 65,536
    #[arg(long, default_value = "64", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) window: u32,
    #[command(flatten)]
    pub(crate) node: NodeOptions,
}

/// Options of `mq halo`.
#[derive(Args, Debug)]
#[command(allow_negative_numbers = true, after_help = format!("{SWITCHES}
Four processes form a periodic grid of 2 x 2. Each sends and receives four borders with non-blocking \
operations and waits for all; the time is that of the slowest process. With fewer than four cores, \
processes share them.

Examples:
  mq halo
  mq halo --tiles 1,10,100,1000 --format json"))]
pub(crate) struct HaloOptions {
    /// Border lengths in elements of 8 bytes, 1 to 10,000,000
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = tile,
        value_name = "N,...",
        default_value = "1,2,5,10,20,50,100,200,500,1000"
    )]
    pub(crate) tiles: Vec<usize>,
    #[command(flatten)]
    pub(crate) node: NodeOptions,
}

/// What `mq calls` measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Call {
    /// All wait for all
    Barrier,
    /// One to all; each rank is the root in its turn
    Broadcast,
    /// To the next rank, and from the one before
    Sendrecv,
    /// `sendrecv` of a rank with itself
    Itself,
    /// Non-blocking, from each rank to each, itself included
    Alltoall,
    /// Rank 0 receives questions from anybody and answers them, as many as there are other ranks
    Recv,
    /// The same; it waits in a probe before it receives
    Probe,
    /// The same; it probes until there is something to receive
    Iprobe,
    /// The same; it tests a receive until that is complete
    Test,
}

impl Call {
    /// Its name in rows.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Broadcast => "broadcast",
            Self::Sendrecv => "sendrecv",
            Self::Itself => "itself",
            Self::Alltoall => "alltoall",
            Self::Recv => "recv",
            Self::Probe => "probe",
            Self::Iprobe => "iprobe",
            Self::Test => "test",
        }
    }
}

/// Options of `mq calls`.
#[derive(Args, Debug)]
#[command(allow_negative_numbers = true, after_help = format!("{SWITCHES}
A row has the time of one round: of one call, or of as many answers as there are other ranks.

Examples:
  mq calls
  mq calls --calls sendrecv,alltoall --sizes 8,64K
  mq calls --processes 4 --calls iprobe --format json"))]
pub(crate) struct CallsOptions {
    /// Calls to measure
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "NAME,...",
        default_value = "barrier,broadcast,sendrecv,itself,alltoall,recv,probe,iprobe,test"
    )]
    pub(crate) calls: Vec<Call>,
    /// Message sizes in bytes, 1G at most; suffixes K, M and G are powers of 1,024
    #[arg(long, value_delimiter = ',', value_parser = bytes, value_name = "BYTES,...",
        default_value = "8,1024,65536")]
    pub(crate) sizes: Vec<usize>,
    /// Number of processes, 2 to 1,000
    #[arg(long, default_value = "2", value_name = "N",
        value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub(crate) processes: u32,
    #[command(flatten)]
    pub(crate) node: NodeOptions,
}

fn bytes(text: &str) -> Result<usize, String> {
    mq_comm::parse_bytes(text)
        .filter(|&bytes| bytes <= LONGEST)
        .ok_or_else(|| "expected a number of bytes such as 64 or 4K, 1G at most".into())
}

fn tile(text: &str) -> Result<usize, String> {
    let elements = text.parse().ok();
    elements
        .filter(|elements| (1..=WIDEST).contains(elements))
        .ok_or_else(|| format!("expected a number of elements from 1 to {WIDEST}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_and_an_end() {
        for (text, read) in [
            ("0", 0),
            ("8", 8),
            ("4k", 4096),
            ("2M", 2 << 20),
            ("1G", 1 << 30),
        ] {
            assert_eq!(bytes(text), Ok(read));
        }
        for text in [
            "",
            "k",
            "-1",
            "8kB",
            "1073741825",
            "2G",
            "18446744073709551615",
        ] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert_eq!(tile("10"), Ok(10));
        assert!(tile("0").is_err() && tile("100000000").is_err());
    }
}
