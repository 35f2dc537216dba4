#!/bin/sh
# Every table of docs/results.md that is about the engine itself, in the order in which they stand there.
set -eu

usage() {
    cat <<'TEXT'
usage: benches/report.sh [--repeat N] [TABLE...]

Prints, as Markdown, what docs/results.md shows of the engine itself. `rows` takes more than half an hour, since each list takes a quarter of a minute for a row of 65,536 entries;
the rest together some ten minutes.

    traces        recorded traces, nanoseconds an operation, every structure
    instructions  instructions a pair, every structure
    rows          nanoseconds a pair by depth, order and key, every structure
    limits        wildcards, chosen keys, memory and single operations of `indexed`
    tail          single operations in instructions
    budgets       10^8 random operations within budgets against an oracle
    threads       the shared engine with 1, 2, 4 and 8 threads

  --repeat N  repetitions of each measurement of time (9); the median and the best are shown

Needs valgrind for `instructions` and `tail`. Progress goes to standard error.

    benches/report.sh >report.md
    benches/report.sh --repeat 3 rows
TEXT
}

repeat=9
while [ $# -gt 0 ]; do
    case "$1" in
    -h | --help)
        usage
        exit 0
        ;;
    --repeat)
        [ $# -ge 2 ] || { usage >&2; exit 2; }
        repeat=$2
        shift 2
        ;;
    -*)
        usage >&2
        exit 2
        ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || set -- traces instructions rows limits tail budgets threads
for table; do
    case "$table" in
    traces | instructions | rows | limits | tail | budgets | threads) ;;
    *)
        echo "benches/report.sh: no table \`$table\`" >&2
        usage >&2
        exit 2
        ;;
    esac
done

cd "$(dirname "$0")/.."
echo "building" >&2
cargo build --quiet --release --package mq-cli
cargo build --quiet --release --package mq-benches --examples
target="${CARGO_TARGET_DIR:-target}/release"
every=$("$target/examples/instructions" --structures | paste -sd, -)

for table; do
    echo "$table, since $(date +%H:%M:%S)" >&2
    case "$table" in
    traces) "$target/mq" replay traces/*.mqt.gz --structure "$every" --repeat 51 ;;
    instructions) ci/instructions.sh ;;
    rows) "$target/examples/limits" rows --structures "$every" --repeat "$repeat" ;;
    limits) "$target/examples/limits" wildcards keys memory tail --repeat "$repeat" ;;
    tail) benches/tail.sh ;;
    budgets) "$target/examples/soak" --structure indexed ;;
    threads) "$target/examples/threads" ;;
    esac
    echo
done
