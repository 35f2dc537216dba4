//! What was published of the queues of applications.
//!
//! 2014 is Zounmevo & Afsahi, Table 8 and the text of §7.3. Its columns are the longest queue of the job (MQL), the
//! average queue length (AQL), the longest average search of a process (MASL) and the average search of the job
//! (ASL). The AQL is read as the average, over the processes, of the longest queue of each: an average over time
//! cannot equal the maximum, as it does for the PRQ of Radix, whose searches also find the queue empty.
//!
//! 2019 is Ghazimirsaeed, Grant & Afsahi, whose figures are plots: only what the text says is here.

use super::fit::{Configuration, Published, Run, Statistic};
use super::process::Process;
use super::radix::Keys;
use Published::{Value, Words};
use Statistic::{
    CollectiveShare, Lists, LongestPosted, LongestUnexpected, MeanOfBoth, MeanPosted,
    MeanUnexpected, PostedLists, UnexpectedShareOfCollective,
};

/// A row of Table 8: MQL, AQL, MASL and ASL of both queues.
struct Table8 {
    name: &'static str,
    ranks: u32,
    posted: [f64; 4],
    unexpected: [f64; 4],
}

static RADIX: [Table8; 3] = [
    Table8 {
        name: "Radix.n28",
        ranks: 512,
        posted: [4.0, 4.0, 0.998, 0.817],
        unexpected: [3061.3, 484.905, 1510.058, 46.547],
    },
    Table8 {
        name: "Radix.n29",
        ranks: 512,
        posted: [4.0, 4.0, 0.998, 0.823],
        unexpected: [6110.0, 492.449, 3418.630, 54.468],
    },
    Table8 {
        name: "Radix.n30",
        ranks: 512,
        posted: [4.0, 4.0, 0.979, 0.832],
        unexpected: [13228.0, 533.837, 7208.657, 74.740],
    },
];

static NBODY: [Table8; 3] = [
    Table8 {
        name: "Nbody.256",
        ranks: 256,
        posted: [255.0, 254.953, 0.981, 0.926],
        unexpected: [249.333, 86.863, 27.228, 6.041],
    },
    Table8 {
        name: "Nbody.512",
        ranks: 512,
        posted: [511.0, 508.775, 0.984, 0.867],
        unexpected: [498.0, 370.342, 32.363, 17.718],
    },
    Table8 {
        name: "Nbody.704",
        ranks: 704,
        posted: [703.0, 682.646, 0.982, 0.796],
        unexpected: [693.667, 551.003, 50.863, 21.876],
    },
];

type Figure = (Statistic, Published, &'static str);

impl Table8 {
    /// The figures of the process that has the longest queues and searches.
    fn largest(&self) -> Vec<Figure> {
        let ([posted, .., posted_search, _], [unexpected, .., unexpected_search, _]) =
            (self.posted, self.unexpected);
        vec![
            (LongestPosted, Value(posted), "2014, Table 8, MQL"),
            (MeanPosted, Value(posted_search), "2014, Table 8, MASL"),
            (LongestUnexpected, Value(unexpected), "2014, Table 8, MQL"),
            (
                MeanUnexpected,
                Value(unexpected_search),
                "2014, Table 8, MASL",
            ),
        ]
    }

    /// The figures of the average process.
    fn average(&self) -> Vec<Figure> {
        let ([_, posted, _, posted_search], [_, unexpected, _, unexpected_search]) =
            (self.posted, self.unexpected);
        vec![
            (LongestPosted, Value(posted), "2014, Table 8, AQL"),
            (MeanPosted, Value(posted_search), "2014, Table 8, ASL"),
            (LongestUnexpected, Value(unexpected), "2014, Table 8, AQL"),
            (
                MeanUnexpected,
                Value(unexpected_search),
                "2014, Table 8, ASL",
            ),
        ]
    }

    /// The figures of the average process that is not the one with the longest UMQ.
    fn average_of_the_others(&self) -> Vec<Figure> {
        let ranks = f64::from(self.ranks);
        let others = |average: f64, largest: f64| (ranks * average - largest) / (ranks - 1.0);
        let [longest, average, longest_search, average_search] = self.unexpected;
        let mut figures = self.average();
        figures.truncate(2);
        figures.extend([
            (
                LongestUnexpected,
                Value(others(average, longest)),
                "2014, Table 8, AQL without rank 0",
            ),
            (
                MeanUnexpected,
                Value(others(average_search, longest_search)),
                "2014, Table 8, ASL without rank 0",
            ),
        ]);
        figures
    }

    fn with(&self, figures: Vec<Figure>) -> Configuration {
        configuration(self.name, self.ranks, figures)
    }
}

fn configuration(name: &'static str, ranks: u32, figures: Vec<Figure>) -> Configuration {
    let run = Run { name, ranks };
    Configuration { run, figures }
}

/// Another application with as many neighbours.
pub(super) fn halo() -> Vec<Configuration> {
    let figures = vec![
        (MeanPosted, Value(3.56), "2014, §7.3"),
        (MeanUnexpected, Value(4.29), "2014, §7.3"),
    ];
    vec![configuration("AMG2006", 512, figures)]
}

/// The root.
pub(super) fn gather() -> Vec<Configuration> {
    let runs = [(1024, 32.0), (2048, 45.0), (4096, 64.0)].into_iter();
    runs.map(|(ranks, lists)| {
        let figures = vec![(PostedLists(1), Value(lists), "2019, §5.2")];
        configuration("MPI_Gather", ranks, figures)
    })
    .collect()
}

/// Rank 0 is taken for the process with the longest UMQ.
pub(super) fn nbody(process: Process) -> Vec<Configuration> {
    let source = "2019, §2.1, 512 processes";
    let collective = |ranks| {
        let unexpected = match ranks {
            512 => Value(11.0 / 36.0),
            _ => Words("0.31 on 512"),
        };
        [
            (CollectiveShare, Words("the minority"), source),
            (UnexpectedShareOfCollective, unexpected, source),
        ]
    };
    let runs = NBODY.iter();
    runs.map(|run| {
        let mut figures = match process.rank {
            0 => run.largest(),
            _ => run.average(),
        };
        figures.extend(collective(run.ranks));
        run.with(figures)
    })
    .collect()
}

/// Rank 0, or one of the others.
pub(super) fn radix(process: Process, keys: Keys) -> Vec<Configuration> {
    let run = match keys {
        Keys::N28 => &RADIX[0],
        Keys::N29 => &RADIX[1],
        Keys::N30 => &RADIX[2],
    };
    let mut figures = match process.rank {
        0 => run.largest(),
        _ => run.average_of_the_others(),
    };
    figures.push((CollectiveShare, Words("almost all"), "2019, §2.1"));
    if process.rank != 0 {
        figures.push((MeanOfBoth, Value(10.0), "2019, §5.3.1"));
    }
    vec![run.with(figures)]
}

/// Any rank.
pub(super) fn amr() -> Vec<Configuration> {
    let share = (CollectiveShare, Words("the majority"), "2019, §2.1");
    let enough = (Lists(8), Words("less than 44"), "2019, §5.3.1");
    let lists = (Lists(8), Value(74.0), "2019, §6");
    vec![
        configuration("MiniAMR", 512, vec![share, enough]),
        configuration("MiniAMR", 2048, vec![share, lists]),
    ]
}

/// Rank 0, or one of the others.
pub(super) fn fds(process: Process) -> Vec<Configuration> {
    let share = (CollectiveShare, Words("the majority"), "2019, §2.1");
    if process.rank != 0 {
        let one = (Lists(8), Value(1.0), "2019, §5.4.3");
        let runs = [512, 1024, 2048].into_iter();
        return runs
            .map(|ranks| configuration("FDS", ranks, vec![share, one]))
            .collect();
    }
    let posted = (PostedLists(8), Value(256.0), "2019, §5.4.1");
    let both = (Lists(8), Value(416.0), "2019, §6");
    vec![
        configuration("FDS", 1024, vec![share, posted]),
        configuration("FDS", 2048, vec![share, both]),
    ]
}
