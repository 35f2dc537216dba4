#!/bin/sh
# Instructions per pair of post and arrive, for each structure: a Markdown table, or a check of it.
set -eu
self=ci/instructions.sh
. "$(dirname "$0")/counting.sh"

usage() {
    cat <<'TEXT'
usage: ci/instructions.sh [STRUCTURE...]
       ci/instructions.sh --check
       ci/instructions.sh --write REASON

Counts the machine instructions of one post and one arrive of a matching pair, for each structure (all
of them if none is named), with 0, 1, 4, 16 and 64 entries in the queue that is searched, all from the
same sender with other tags. `expected`: the receive is posted first; `unexpected`: the message arrives
first. The count is the difference between a run of 2000 pairs and one of 1000, divided by 1000; it is
the same on a busy machine as on an idle one. About 25 of the instructions are the driver's.
`named`: so many receives fill the queue, and their messages come in reverse; `any-source`: a quarter of
them names no sender. There the difference is of four rounds and two.

--check compares `list` and `indexed` with benches/instructions.baseline and fails if a count has changed
by more than 3 %, for better or worse. It uses the compiler of the baseline, and installs it by rustup if
it is missing. --write stores the current counts as the baseline, with REASON, which says why they are
right.

Needs valgrind. Builds instructions.rs and drained.rs of benches/examples in release mode; respects CARGO_TARGET_DIR.

    ci/instructions.sh list indexed
    ci/instructions.sh --write "handles carry the context"
TEXT
}

parse_action "$@"
shift $used
case "$action ${1:-}" in
"check "?* | "write "?*) wrong_usage ;;
esac
need valgrind

cd "$(dirname "$0")/.."
baseline=benches/instructions.baseline
[ $action != check ] || use_compiler_of $baseline
cargo build --quiet --release --package mq-benches --example instructions --example drained
programs="${CARGO_TARGET_DIR:-target}/release/examples"

columns="expected-0 expected-1 expected-4 expected-16 expected-64
    unexpected-0 unexpected-1 unexpected-4 unexpected-16 unexpected-64
    named-64 named-256 named-4096 any-source-64 any-source-256 any-source-4096"

# per_pair STRUCTURE MODE DEPTH: prints the instructions of one pair.
per_pair() {
    case $2 in
    named | any-source) program=drained times=2 pairs=$((2 * $3)) ;;
    *) program=instructions times=1000 pairs=1000 ;;
    esac
    fewer=$(instructions "$programs/$program" "$1" "$3" "$2" $times) || return 1
    more=$(instructions "$programs/$program" "$1" "$3" "$2" $((2 * times))) || return 1
    each "$fewer" "$more" $pairs
}

# counts STRUCTURE: a line `STRUCTURE MODE DEPTH INSTRUCTIONS` for each of its columns.
counts() {
    for column in $columns; do
        pair=$(per_pair "$1" "${column%-*}" "${column##*-}") || return 1
        echo "$1 ${column%-*} ${column##*-} $pair"
    done
}

# The structures that are held to the baseline.
[ $action = table ] || set -- list indexed
[ $# -gt 0 ] || set -- $("$programs/instructions" --structures)
printf '| structure |'
for column in $columns; do printf ' %s, %s |' "${column%-*}" "${column##*-}"; done
printf '\n| --- |'
for _ in $columns; do printf ' ---: |'; done
echo
now=
for structure; do
    rows=$(counts "$structure") || exit 1
    echo "$rows" | awk 'NR == 1 { printf "| %s |", $1 } { printf " %s |", $4 } END { print "" }'
    now="$now$rows
"
done

case $action in
write) printf %s "$now" | write_counts $baseline "compiler: $(compiler)" ;;
check) printf %s "$now" | check_counts $baseline 3 ;;
esac
