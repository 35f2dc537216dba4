//! [`Fit`]: the statistics of a trace beside published ones.

use super::statistics::{QueueStatistics, Statistics};

/// The statistics of a trace beside those of the published run that is nearest in the number of processes.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Fit {
    /// The published run; `None` if nothing is published of such a process, and then no row has a figure.
    pub run: Option<Run>,
    /// The statistics.
    pub rows: Vec<Row>,
}

/// A run of an application whose statistics were published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Run {
    /// Its name, as in the paper.
    pub name: &'static str,
    /// Its processes.
    pub ranks: u32,
}

/// One statistic.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Row {
    /// What it is.
    pub statistic: &'static str,
    /// What was published.
    pub published: Published,
    /// The paper's year, and the place in it; empty if nothing is published.
    pub place: &'static str,
    /// That of the trace.
    pub measured: f64,
    /// That of the trace, divided by the published number, if the processes are as many.
    pub ratio: Option<f64>,
}

/// What a paper says of a statistic.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Published {
    /// A number.
    Value(f64),
    /// Words that say less.
    Words(&'static str),
    /// Nothing.
    Nothing,
}

/// A statistic that papers give.
#[derive(Clone, Copy)]
pub(super) enum Statistic {
    LongestPosted,
    LongestUnexpected,
    /// Of the searches of the PRQ.
    MeanPosted,
    /// Of the searches of the UMQ.
    MeanUnexpected,
    /// Of the searches of both.
    MeanOfBoth,
    /// Of all entries that were queued.
    CollectiveShare,
    /// Of the entries of collective operations.
    UnexpectedShareOfCollective,
    /// The lists of `col` for its PRQ, at most this many times the square root of the processes.
    PostedLists(u32),
    /// Those for both queues.
    Lists(u32),
}

impl Statistic {
    const fn name(self) -> &'static str {
        match self {
            Self::LongestPosted => "longest PRQ",
            Self::LongestUnexpected => "longest UMQ",
            Self::MeanPosted => "mean search of the PRQ",
            Self::MeanUnexpected => "mean search of the UMQ",
            Self::MeanOfBoth => "mean search of both",
            Self::CollectiveShare => "share of collective elements",
            Self::UnexpectedShareOfCollective => "share of the UMQ in these",
            Self::PostedLists(_) => "lists for them in the PRQ",
            Self::Lists(_) => "lists for them in both",
        }
    }

    fn of(self, statistics: &Statistics, ranks: u32) -> f64 {
        let Statistics { posted, unexpected } = statistics;
        match self {
            Self::LongestPosted => posted.longest as f64,
            Self::LongestUnexpected => unexpected.longest as f64,
            Self::MeanPosted => posted.all.mean_search(),
            Self::MeanUnexpected => unexpected.all.mean_search(),
            Self::MeanOfBoth => statistics.mean_search(),
            Self::CollectiveShare => statistics.collective_share(),
            Self::UnexpectedShareOfCollective => statistics.unexpected_share_of_collective(),
            Self::PostedLists(k) => lists(posted, k, ranks),
            Self::Lists(k) => lists(posted, k, ranks) + lists(unexpected, k, ranks),
        }
    }
}

/// The lists that Algorithm 1 of Ghazimirsaeed et al. 2019 gives collective operations: as many as their
/// searches visit entries on average, and at most `k` times the square root of the processes.
fn lists(queue: &QueueStatistics, k: u32, ranks: u32) -> f64 {
    let limit = f64::from(k) * f64::from(ranks).sqrt();
    queue.collective.mean_search().ceil().min(limit.floor())
}

/// A run and its published figures.
pub(super) struct Configuration {
    pub(super) run: Run,
    pub(super) figures: Vec<(Statistic, Published, &'static str)>,
}

impl Fit {
    /// The statistics beside the run that is nearest to `ranks` processes.
    pub(super) fn of(
        configurations: &[Configuration],
        ranks: u32,
        statistics: &Statistics,
    ) -> Self {
        let distance = |of: &Configuration| {
            let (of, ranks) = (f64::from(of.run.ranks), f64::from(ranks));
            (of / ranks).ln().abs()
        };
        let nearest = configurations
            .iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let is_of_as_many = nearest.is_some_and(|nearest| nearest.run.ranks == ranks);
        let row = |&(statistic, published, place): &(Statistic, Published, &'static str)| {
            let measured = statistic.of(statistics, ranks);
            Row {
                statistic: statistic.name(),
                published,
                place,
                measured,
                ratio: match published {
                    Published::Value(value) if is_of_as_many => Some(measured / value),
                    _ => None,
                },
            }
        };
        match nearest {
            Some(Configuration { run, figures }) => Self {
                run: Some(*run),
                rows: figures.iter().map(row).collect(),
            },
            None => Self {
                run: None,
                rows: UNPUBLISHED.iter().map(row).collect(),
            },
        }
    }
}

/// The statistics of a process of which nothing is published.
const UNPUBLISHED: [(Statistic, Published, &str); 4] = [
    (Statistic::LongestPosted, Published::Nothing, ""),
    (Statistic::MeanPosted, Published::Nothing, ""),
    (Statistic::LongestUnexpected, Published::Nothing, ""),
    (Statistic::MeanUnexpected, Published::Nothing, ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A run on this many processes with one figure.
    fn run(ranks: u32) -> Configuration {
        Configuration {
            run: Run { name: "a", ranks },
            figures: vec![(
                Statistic::LongestPosted,
                Published::Value(4.0),
                "2014, Table 8",
            )],
        }
    }

    #[test]
    fn figures_are_those_of_the_nearest_run() {
        let mut statistics = Statistics::default();
        statistics.posted.longest = 6;
        let runs = [run(256), run(512), run(4096)];
        for (ranks, nearest) in [
            (2, 256),
            (300, 256),
            (400, 512),
            (1_000, 512),
            (2_000, 4096),
        ] {
            let fit = Fit::of(&runs, ranks, &statistics);
            assert_eq!(fit.run.map(|run| run.ranks), Some(nearest), "{ranks}");
            assert_eq!(fit.rows[0].ratio, None, "{ranks}");
        }
        let fit = Fit::of(&runs, 512, &statistics);
        assert_eq!(fit.rows[0].ratio, Some(1.5));
        let fit = Fit::of(&[], 512, &statistics);
        assert_eq!((fit.run, fit.rows.len()), (None, 4));
        assert!(fit.rows.iter().all(|row| row.ratio.is_none()));
    }

    #[test]
    fn lists_are_as_many_as_a_search_visits_up_to_a_limit() {
        let mut queue = QueueStatistics::default();
        queue.collective.searches = 10;
        queue.collective.visited = 101;
        assert_eq!(lists(&queue, 8, 512).to_string(), "11");
        assert_eq!(lists(&queue, 1, 64).to_string(), "8");
        assert_eq!(lists(&QueueStatistics::default(), 8, 64).to_string(), "0");
    }
}
