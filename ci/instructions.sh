#!/bin/sh
# Instructions per pair of post and arrive, for each structure, as a Markdown table.
set -eu

usage() {
    cat <<'TEXT'
usage: ci/instructions.sh [STRUCTURE...]

Counts the machine instructions that one post and one arrive of a matching pair take, for each
structure (all of them if none is named) with 0, 4 and 64 entries standing in the queue that is
searched, all of the same sender with other tags. `expected`: the receive is posted first;
`unexpected`: the message arrives first. The count is the difference between a run of 2000 pairs and
one of 1000, over 1000, and the same on a busy machine as on an idle one. About 25 of the
instructions are those of the driver.

Needs valgrind. Builds benches/examples/instructions.rs in release mode; CARGO_TARGET_DIR is heeded.
TEXT
}

case "${1:-}" in
-h | --help)
    usage
    exit 0
    ;;
-*)
    usage >&2
    exit 2
    ;;
esac

command -v valgrind >/dev/null || {
    echo "ci/instructions.sh: valgrind is not installed; install the package \`valgrind\` (apt-get install valgrind)." >&2
    exit 1
}

cd "$(dirname "$0")/.."
cargo build --quiet --release --package mq-benches --example instructions
program="${CARGO_TARGET_DIR:-target}/release/examples/instructions"

# instructions ARGUMENT...: prints the number of instructions of one whole run.
instructions() {
    report=$(valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null \
        "$program" "$@" 2>&1) || {
        echo "$report" >&2
        echo "ci/instructions.sh: $program $* failed under valgrind." >&2
        return 1
    }
    count=$(echo "$report" | sed -n 's/^.*I *refs: *//p' | tr -d ,)
    if [ -z "$count" ]; then
        echo "ci/instructions.sh: valgrind printed no line \`I refs\`; see its output: $report" >&2
        return 1
    fi
    echo "$count"
}

# per_pair STRUCTURE DEPTH MODE: prints the instructions of one pair, rounded.
per_pair() {
    fewer=$(instructions "$1" "$2" "$3" 1000) || return 1
    more=$(instructions "$1" "$2" "$3" 2000) || return 1
    echo $(((more - fewer + 500) / 1000))
}

[ $# -gt 0 ] || set -- $("$program" --structures)

echo "| structure | expected, 0 | expected, 4 | expected, 64 | unexpected, 0 | unexpected, 4 | unexpected, 64 |"
echo "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
for structure in "$@"; do
    row="| $structure |"
    for mode in expected unexpected; do
        for depth in 0 4 64; do
            pair=$(per_pair "$structure" "$depth" "$mode") || exit 1
            row="$row $pair |"
        done
    done
    echo "$row"
done
