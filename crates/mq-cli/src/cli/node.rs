//! `mq pingpong`, `bandwidth`, `rate` and `halo` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{Format, svg_file};
use crate::binding::CoreList;

/// The longest message: beyond this it is a slip of the keyboard, and memory may not suffice.
const LONGEST: usize = 1 << 30;
/// The most elements of a border.
const WIDEST: usize = 10_000_000;

/// What all four have.
#[derive(Args, Debug, Clone)]
pub(crate) struct NodeOptions {
    /// Samples of each row, 1 to 100,000; a row gives their median and the best
    #[arg(long, default_value = "20", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) samples: u32,
    /// Microseconds that a sample takes, about, 1 to 10,000,000
    #[arg(long, default_value = "2000", value_name = "MICROSECONDS",
        value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) block: u64,
    /// How results are printed; json is one object a line
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Also draw the rows into an SVG file, whose name has to end in .svg
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file())]
    pub(crate) plot: Option<PathBuf>,
    /// Leave the processes to the system's scheduler; otherwise each is bound to a core, or
    /// neighbours to one together where there are more processes than cores
    #[arg(long)]
    pub(crate) unbound: bool,
    /// Cores to bind the processes to, in the order of their ranks, as 0,2 or 4-7; otherwise the
    /// first that mq may use
    #[arg(long, value_name = "LIST", conflicts_with = "unbound")]
    pub(crate) cores: Option<CoreList>,
}

impl NodeOptions {
    pub(crate) fn block(&self) -> Duration {
        Duration::from_micros(self.block)
    }
}

const SWITCHES: &str = "\
How far apart two cores are decides what a message takes: the first line of a table, and \"cores\" in \
json, say which were used (null: not bound). Rows are printed as they are measured. In json each \
says also whether it is of \"shared_buffers\", the \"window\" if there is one, and in \"settings\" which \
of the variables below were set and heeded.

Each way of sending can be switched off, to see what it gains: MQ_BYPASS=0, MQ_FASTBOX=0, \
MQ_AHEAD_LIMIT=0, MQ_SINGLE_COPY=0, MQ_COOPERATIVE_COPY=0, MQ_SHARED_COPY=0. MQ_POLICY (per-peer, \
adaptive+per-peer, adaptive+shared, shared), MQ_EAGER_LIMIT, MQ_SINGLE_COPY_FROM (bytes, or auto: by \
what is quicker), MQ_NONTEMPORAL_FROM, MQ_PATIENCE and MQ_STRUCTURE choose others. The processes are \
started by the command itself, or by `mq run`, mpirun or srun.

Exit codes: 0 measured, 2 bad usage or another number of processes than are needed; otherwise as \
`mq run`, of which the processes are ranks.
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
    /// Bytes of the messages, 1G at most, with K, M or G behind them for powers of 1,024
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = bytes,
        value_name = "BYTES,...",
        default_value = "0,1,2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144,524288,1048576,2097152,4194304"
    )]
    pub(crate) sizes: Vec<usize>,
    /// Send from shared buffers, out of which messages longer than the eager limit are copied once,
    /// or through a ring if that is found to be quicker
    #[arg(long)]
    pub(crate) shared_buffers: bool,
    #[command(flatten)]
    pub(crate) node: NodeOptions,
}

/// How the messages of `mq bandwidth` follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum By {
    /// Many at once, acknowledged together
    Window,
    /// One at a time, there and back
    Pingpong,
    /// As pingpong, and who sends writes to every cache line of the message before, which counts
    Rewritten,
}

impl By {
    /// As rows name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Pingpong => "pingpong",
            Self::Rewritten => "rewritten",
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
  MQ_SINGLE_COPY=0 mq bandwidth --sizes 65536,4194304 --format json"))]
pub(crate) struct BandwidthOptions {
    /// Bytes of the messages, 1G at most, with K, M or G behind them for powers of 1,024
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = bytes,
        value_name = "BYTES,...",
        default_value = "16384,32768,65536,131072,262144,524288,1048576,2097152,4194304"
    )]
    pub(crate) sizes: Vec<usize>,
    /// Send from shared buffers, out of which messages longer than the eager limit are copied once,
    /// or through a ring if that is found to be quicker
    #[arg(long)]
    pub(crate) shared_buffers: bool,
    /// How messages follow each other
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "NAME,...",
        default_value = "window,pingpong,rewritten"
    )]
    pub(crate) by: Vec<By>,
    /// Messages of a window, between two acknowledgements, 1 to 65,536 [default: 64]
    #[arg(long, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=65_536))]
    window: Option<u32>,
    #[command(flatten)]
    pub(crate) node: NodeOptions,
}

impl BandwidthOptions {
    /// Messages of a window.
    pub(crate) fn window(&self) -> u32 {
        self.window.unwrap_or(64)
    }

    /// # Errors
    /// If something was asked for that nothing is measured by.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.window {
            Some(_) if !self.by.contains(&By::Window) => {
                Err("--window is for `--by window`, which is not asked for".into())
            }
            _ => Ok(()),
        }
    }
}

/// Options of `mq rate`.
#[derive(Args, Debug)]
#[command(allow_negative_numbers = true, after_help = format!("{SWITCHES}
Each row has cores of its own for the receiver and its senders, and says which: they share cores only \
where there are too few for them. All rows are of one run, with the processes that the most senders need: \
those that a row does not need wait on cores that it may use, and where that makes more processes than \
cores, all give theirs up early. For figures of few senders alone, measure each number by itself.

Examples:
  mq rate
  mq rate --senders 1,2,3 --size 8 --format json"))]
pub(crate) struct RateOptions {
    /// Senders to one receiver, 1 to 1,000
    #[arg(long, value_delimiter = ',', value_name = "N,...", default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) senders: Vec<u32>,
    /// Bytes of the messages, 1G at most, with K, M or G behind them for powers of 1,024
    #[arg(long, default_value = "8", value_parser = bytes, value_name = "BYTES")]
    pub(crate) size: usize,
    /// Messages of a sender between two acknowledgements, 1 to 65,536
    #[arg(long, default_value = "64", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) window: u32,
    #[command(flatten)]
    pub(crate) node: NodeOptions,
}

/// Options of `mq halo`.
#[derive(Args, Debug)]
#[command(allow_negative_numbers = true, after_help = format!("{SWITCHES}
Four processes are a grid of 2 x 2, periodic. Each sends and receives four borders, by \
non-blocking operations, and waits for all; the time is that of the slowest. On fewer than four \
cores the processes share them.

Examples:
  mq halo
  mq halo --tiles 1,10,100,1000 --format json"))]
pub(crate) struct HaloOptions {
    /// Elements of 8 bytes in a border, 1 to 10,000,000
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

fn bytes(text: &str) -> Result<usize, String> {
    mq_comm::parse_bytes(text)
        .filter(|&bytes| bytes <= LONGEST)
        .ok_or_else(|| "give a number of bytes, as 64 or 4K, 1G at most".into())
}

fn tile(text: &str) -> Result<usize, String> {
    let elements = text.parse().ok();
    elements
        .filter(|elements| (1..=WIDEST).contains(elements))
        .ok_or_else(|| format!("give a number of elements from 1 to {WIDEST}"))
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
