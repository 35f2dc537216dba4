#!/bin/sh
# Instructions per pair of post and arrive, for each structure: a Markdown table, or a check of it.
set -eu

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

--check compares `list` and `indexed` with benches/instructions.baseline and fails if a count has changed
by more than 3 %, for better or worse. It uses the compiler of the baseline, and installs it by rustup if
it is missing. --write stores the current counts as the baseline, with REASON, which says why they are
right.

Needs valgrind. Builds benches/examples/instructions.rs in release mode; respects CARGO_TARGET_DIR.

    ci/instructions.sh list indexed
    ci/instructions.sh --write "handles carry the context"
TEXT
}

mode=table
case "${1:-}" in
-h | --help)
    usage
    exit 0
    ;;
--check)
    [ $# -eq 1 ] || { usage >&2; exit 2; }
    mode=check
    shift
    ;;
--write)
    [ $# -eq 2 ] && [ -n "$2" ] || { usage >&2; exit 2; }
    mode=write
    reason=$2
    shift 2
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
baseline=benches/instructions.baseline
if [ $mode = check ]; then
    . ci/baseline-compiler.sh
    use_compiler_of $baseline
fi
compiler=$(rustc --version | cut -d' ' -f1-2)
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

depths="0 1 4 16 64"

# counts STRUCTURE...: a line `STRUCTURE QUEUE DEPTH INSTRUCTIONS` for each.
counts() {
    for structure; do
        for queue in expected unexpected; do
            for depth in $depths; do
                pair=$(per_pair "$structure" "$depth" "$queue") || return 1
                echo "$structure $queue $depth $pair"
            done
        done
    done
}

if [ $mode = table ]; then
    [ $# -gt 0 ] || set -- $("$program" --structures)
    printf '| structure |'
    for queue in expected unexpected; do
        for depth in $depths; do printf ' %s, %s |' "$queue" "$depth"; done
    done
    printf '\n| --- |'
    for _ in $depths $depths; do printf ' ---: |'; done
    echo
    for structure; do
        rows=$(counts "$structure") || exit 1
        echo "$rows" | awk 'NR == 1 { printf "| %s |", $1 } { printf " %s |", $4 } END { print "" }'
    done
    exit 0
fi

now=$(counts list indexed) || exit 1
if [ $mode = write ]; then
    {
        echo "# Instructions per pair; ci/instructions.sh --check compares with them. Do not edit: --write."
        echo "# compiler: $compiler"
        echo "# reason: $reason"
        echo "$now"
    } >$baseline
    echo "wrote $baseline"
    exit 0
fi

echo "$now" | awk -v baseline=$baseline '
    BEGIN {
        while ((getline line < baseline) > 0)
            if (line !~ /^#/) { split(line, f, " "); before[f[1] " " f[2] " " f[3]] = f[4]; wanted++ }
        print "| structure | queue | entries | baseline | now | change |"
        print "| --- | --- | ---: | ---: | ---: | ---: |"
    }
    {
        was = before[$1 " " $2 " " $3]
        seen++
        if (was == "") { print "ci/instructions.sh: " $0 ": not in " baseline; failed++; next }
        change = 100 * ($4 - was) / was
        verdict = (change > 3 || change < -3) ? " FAILED" : ""
        if (verdict) failed++
        printf "| %s | %s | %s | %d | %d | %+.1f %%%s |\n", $1, $2, $3, was, $4, change, verdict
    }
    END {
        if (seen != wanted) {
            printf "%d counts, but the baseline has %d\n", seen, wanted
            missing = 1
        }
        printf "%d passed, %d failed\n", seen - failed, failed + missing
        if (failed) {
            print "A count changed by more than 3 %. If that is right, rewrite the baseline in the same commit:"
            print "    ci/instructions.sh --write REASON"
        }
        exit failed > 0 || missing || seen == 0
    }'
