#!/bin/sh
# Instructions per operation in recorded traces, for each structure: a Markdown table.
set -eu

usage() {
    cat <<'TEXT'
usage: benches/trace-instructions.sh [--traces LIST] [STRUCTURE...]

Instructions per operation of each trace, in each structure (all of them if none is named), minus those of the empty
loop, when the trace is replayed the second time. The count is the same on a busy machine as on an idle one, except for
the hash secret, which differs in each run: 1 % with short queues, up to a quarter with the deep ones of hot spots.
Takes some minutes for all structures and traces.

  --traces LIST  traces, or directories of them, separated by commas (traces)

Needs valgrind. Builds benches/examples/replays.rs in release mode; respects CARGO_TARGET_DIR. Exit codes: 0 printed,
1 valgrind is missing or a trace cannot be replayed, 2 bad usage.

    benches/trace-instructions.sh
    benches/trace-instructions.sh --traces ~/recorded list indexed
TEXT
}

fail() {
    echo "benches/trace-instructions.sh: $*" >&2
    exit 1
}

traces=
while [ $# -gt 0 ]; do
    case "$1" in
    -h | --help)
        usage
        exit 0
        ;;
    --traces)
        [ $# -ge 2 ] || { usage >&2; exit 2; }
        traces=$2
        shift 2
        ;;
    -*)
        echo "benches/trace-instructions.sh: unknown option \`$1\`" >&2
        usage >&2
        exit 2
        ;;
    *) break ;;
    esac
done

command -v valgrind >/dev/null ||
    fail "valgrind is not installed; install the package \`valgrind\` (apt-get install valgrind)."
from=$PWD
cd "$(dirname "$0")/.."
[ -n "$traces" ] || { traces=traces; from=$PWD; }
cargo build --quiet --release --package mq-benches --example instructions --example replays
programs="${CARGO_TARGET_DIR:-target}/release/examples"
[ $# -gt 0 ] || set -- $("$programs/instructions" --structures)

files=$(mktemp)
counts=$(mktemp -d)
trap 'rm -rf "$counts" "$files"' EXIT
# Not every shell runs the EXIT trap when a signal ends it.
trap 'exit 130' INT
trap 'exit 143' TERM
echo "$traces" | tr , '\n' | while read -r path; do
    case $path in
    /*) ;;
    *) path=$from/$path ;;
    esac
    if [ -d "$path" ]; then find "$path" -maxdepth 1 -name '*.mqt.gz' | sort; else echo "$path"; fi
done >"$files"
[ -s "$files" ] || fail "no traces (*.mqt.gz) in $traces; name others with --traces"

echo "Instructions of an operation, less those of the empty loop."
echo
printf '| trace |'
printf ' %s |' "$@" "best C engines" goal met
printf '\n| --- |'
for _ in "$@" best goal met; do printf ' ---: |'; done
echo

# A line with the trace's name and a count for each structure.
while read -r file; do
    # One word, like the table's columns.
    name=$(basename "$file" .mqt.gz | tr ' \t' '__')
    rm -f "$counts"/*
    valgrind --tool=callgrind --callgrind-out-file="$counts/out" --collect-atstart=no \
        --toggle-collect='*::replay' --dump-after='*::replay' \
        "$programs/replays" "$file" "$@" >"$counts/said" 2>"$counts/errors" || {
        cat "$counts/said" "$counts/errors" >&2
        fail "$programs/replays $file $* failed under valgrind"
    }
    # Dumps are numbered; every second one is of a warm replay, and the one after the last is of the end.
    totals=$(
        i=2
        while [ -f "$counts/out.$i" ]; do
            sed -n 's/^totals: //p' "$counts/out.$i"
            i=$((i + 2))
        done | head -n $(($# + 1))
    )
    [ "$(echo "$totals" | wc -l)" -eq $(($# + 1)) ] ||
        fail "$file: $(echo "$totals" | wc -l) counts for $# structures and the loop"
    echo "$name $(sed -n 's/^operations //p' "$counts/said")" $totals
done <"$files" | awk -v structures="$*" -v wanted="$(wc -l <"$files")" '
    function row(name, figures, goal, best, hot,    line, i, met) {
        line = "| " name " |"
        for (i = 1; i <= n; i++) line = line sprintf(" %.0f |", figures[i])
        met = ""
        if (indexed) {
            met = figures[indexed] <= goal ? "met" : sprintf("missed, %.2f times", figures[indexed] / goal)
        }
        print line " " best " | " goal " | " met " |"
        fflush()
    }
    BEGIN { n = split(structures, names, " "); for (i = 1; i <= n; i++) if (names[i] == "indexed") indexed = i }
    {
        for (i = 1; i <= n; i++) figures[i] = ($(3 + i) - $3) / $2
        hot = $1 ~ /^hotspot/
        row($1, figures, hot ? 60 : 40, hot ? "60-66" : "37-47")
        if (!hot) { short++; for (i = 1; i <= n; i++) logs[i] += log(figures[i]) }
    }
    END {
        # What failed has reported it.
        if (NR != wanted) exit 1
        if (!short) exit 0
        for (i = 1; i <= n; i++) figures[i] = exp(logs[i] / short)
        row("geometric mean of " short ", short queues", figures, 40, "37-47")
    }'
