#!/bin/sh
# Percentiles of the instructions of single operations: a Markdown table.
set -eu

usage() {
    cat <<'TEXT'
usage: benches/tail.sh [--depth N] [--queues QUEUE,...] [STRUCTURE...]

Instructions of single operations in a queue that grows to N entries (65536 by default) and drains, for each structure
(list and indexed if none is named): median, 99th and 99.99th percentile, and maximum. Every entry has a source of its
own; lists drain from the front, the others in scattered order. `any-source`: unexpected messages, each with a tag of
its own, received from any source, after the same has been done once before. --queues selects queues. Some ten
instructions of the loop are in each count.
Counted from a trace of every instruction: minutes for each structure, and the same on a busy machine as on an idle one.

Needs valgrind. Builds benches/examples/operations.rs in release mode; respects CARGO_TARGET_DIR.

    benches/tail.sh
    benches/tail.sh --depth 4096 indexed bins
    benches/tail.sh --queues any-source indexed
TEXT
}

depth=65536
queues=posted,unexpected,any-source
while [ $# -gt 0 ]; do
    case "$1" in
    -h | --help)
        usage
        exit 0
        ;;
    --depth)
        [ $# -ge 2 ] || { usage >&2; exit 2; }
        depth=$2
        shift 2
        ;;
    --queues)
        [ $# -ge 2 ] || { usage >&2; exit 2; }
        queues=$2
        shift 2
        ;;
    -*)
        usage >&2
        exit 2
        ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || set -- list indexed

command -v valgrind >/dev/null || {
    echo "benches/tail.sh: valgrind is not installed; install the package \`valgrind\` (apt-get install valgrind)." >&2
    exit 1
}
cd "$(dirname "$0")/.."
cargo build --quiet --release --package mq-benches --example operations
program="${CARGO_TARGET_DIR:-target}/release/examples/operations"
for structure; do
    # It reports bad arguments itself; in the trace below nobody would see that.
    for queue in $(echo "$queues" | tr , ' '); do
        "$program" "$structure" "$queue" 1 forward >/dev/null || exit 2
    done
    "$program" "$structure" posted "$depth" forward >/dev/null || exit 2
done
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
# Not every shell runs the EXIT trap when a signal ends it.
trap 'exit 130' INT
trap 'exit 143' TERM

# percentiles COUNT...: of the numbers on standard input, one a line.
percentiles() {
    sort -n | awk '
        { count[NR - 1] = $1 }
        function at(parts) { return count[int((NR - 1) * parts / 10000)] }
        END { printf " %d | %d | %d | %d |\n", at(5000), at(9900), at(9999), at(10000) }'
}

echo "| structure | queue | phase | p50 | p99 | p99.99 | maximum |"
echo "| --- | --- | --- | ---: | ---: | ---: | ---: |"
for structure; do
    order=scattered
    [ "$structure" = list ] && order=forward
    for queue in $(echo "$queues" | tr , ' '); do
        # A line `I  ADDRESS,SIZE` for each instruction; the program's own line says which address to cut at.
        valgrind --tool=lackey --trace-mem=yes --basic-counts=no "$program" "$structure" "$queue" "$depth" $order 2>&1 |
            awk '
                /^mark / { mark = $2; sub(/^0+/, "", mark); next }
                /^I / {
                    address = $2
                    sub(/,.*/, "", address)
                    sub(/^0+/, "", address)
                    if (address == mark) { if (marks++) print n; n = 0 }
                    n++
                }' >"$counts"
        [ "$(wc -l <"$counts")" -eq $((2 * depth)) ] || {
            echo "benches/tail.sh: $program $structure $queue $depth $order: $(wc -l <"$counts") operations in the trace, not $((2 * depth))" >&2
            exit 1
        }
        printf '| %s | %s | grows |' "$structure" "$queue"
        head -n "$depth" "$counts" | percentiles
        printf '| %s | %s | drains |' "$structure" "$queue"
        tail -n "$depth" "$counts" | percentiles
    done
done
