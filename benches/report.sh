#!/bin/sh
# docs/measured/engine-amd.md, -intel.md: every table about the engine itself, against every structure, in one Markdown document.
set -eu

usage() {
    cat <<'TEXT'
usage: benches/report.sh [--structures LIST] [--traces LIST] [--repeat N] [--quick] [TABLE...]

Prints the measurements of the engine itself as one Markdown document: the machine, the compiler, the commit and the
date, then these tables, or the named ones: some twenty minutes on two cores, plus the build. The time of each table
goes to standard error.

    head                machine, compiler, commit, date
    traces              recorded traces, nanoseconds per operation
    trace-instructions  recorded traces, instructions per operation
    instructions        instructions per pair
    rows                nanoseconds per pair by depth, order, key and wildcards
    wildcards           each class of wildcards in both queues, at 64 to 65,536 entries
    keys                keys chosen to collide
    memory              bytes per entry and per context
    tail                single operations in nanoseconds
    tail-instructions   single operations in instructions
    budgets             random operations within budgets against an oracle
    threads             the shared engine with 1, 2, 4 and 8 threads

If `indexed` has a goal, the row states it, the figure of the best existing C engine, and whether the goal is met. A
structure has limited time for a row; one that is too slow is measured over a part, once, and marked with `~`.

  --structures LIST  the structures to compare, separated by commas (all)
  --traces LIST      traces, or directories of them, separated by commas (traces)
  --repeat N         repetitions of each time measurement, if they fit (9)
  --quick            a minute or two, to check that everything runs: few repetitions, few entries, few structures
                     for instruction counts

Needs valgrind for instruction counts. Progress goes to standard error. Exit codes: 0 printed, 1 something could not be
measured, 2 bad usage. Tables printed one by one make the same document as all together.

    benches/report.sh >docs/measured/engine-amd.md       # or -intel.md
    benches/report.sh --structures list,indexed rows wildcards
    benches/report.sh --traces ~/recorded head traces
TEXT
}

refuse() {
    echo "benches/report.sh: $*" >&2
    usage >&2
    exit 2
}

every_table="head traces trace-instructions instructions rows wildcards keys memory tail tail-instructions budgets threads"
repeat=9
quick=
structures=
traces=
while [ $# -gt 0 ]; do
    case "$1" in
    -h | --help)
        usage
        exit 0
        ;;
    --repeat | --structures | --traces)
        [ $# -ge 2 ] && [ -n "$2" ] || refuse "$1 needs a value"
        case "$1" in
        --repeat) repeat=$2 ;;
        --structures) structures=$2 ;;
        --traces) traces=$2 ;;
        esac
        shift 2
        ;;
    --quick)
        quick=yes
        shift
        ;;
    -*) refuse "no option \`$1\`" ;;
    *) break ;;
    esac
done
case "$repeat" in
*[!0-9]* | 0) refuse "--repeat $repeat: not a number of repetitions" ;;
esac
[ $# -gt 0 ] || set -- $every_table
counted=
for table; do
    case " $every_table " in
    *" $table "*) ;;
    *) refuse "no table \`$table\`" ;;
    esac
    case "$table" in
    *instructions) counted=yes ;;
    esac
done
[ -z "$counted" ] || command -v valgrind >/dev/null || {
    echo "benches/report.sh: valgrind is not installed; install the package \`valgrind\` (apt-get install valgrind)." >&2
    exit 1
}

# Paths are relative to the caller; they are made absolute before the directory changes.
traces=$(echo "$traces" | tr , '\n' | while read -r path; do
    case "$path" in
    '' | /*) echo "$path" ;;
    *) echo "$PWD/$path" ;;
    esac
done | paste -sd, -)
cd "$(dirname "$0")/.."
echo "building" >&2
cargo build --quiet --release --package mq-benches --examples
programs="${CARGO_TARGET_DIR:-target}/release/examples"

all=$("$programs/instructions" --structures | paste -sd, -)
counted_structures=${structures:-$all}
counted_traces=${traces:-traces}
if [ -n "$quick" ]; then
    counted_structures=${structures:-list,indexed}
    counted_traces=${traces:-traces/lmp-melt16-r0.mqt.gz}
fi
structures=${structures:-$all}
traces=${traces:-traces}

# words LIST: the comma-separated items as words.
words() {
    echo "$1" | tr , ' '
}

# section TITLE: a heading, with the command that prints what follows it.
section() {
    printf '\n## %s\n\n```sh\nbenches/report.sh %s\n```\n\n' "$1" "$table"
}

limits() {
    if [ -n "$quick" ]; then
        "$programs/limits" "$@" --structures "$structures" --quick
    else
        "$programs/limits" "$@" --structures "$structures" --repeat "$repeat"
    fi
}

head_of_report() {
    benches/head.sh "The engine, measured" "benches/report.sh${quick:+ --quick}"
    cat <<TEXT

\`best C engine\` is the best of existing C engines' matching code, extracted, calls inlined, on another machine of the same kind; \`goal\`
is what was aimed at, and the column behind it says whether \`indexed\` meets it.
TEXT
}

instructions() {
    section "Instructions a pair"
    echo "Of one post and one arrival of a matching pair through an \`Engine\`, about 25 of the driver included; so many entries of"
    echo "the same sender with other tags stand in the queue that is searched. \`named\` and \`any-source\`: so many receives"
    echo "fill the queue, and their messages come in reverse; under \`any-source\` a quarter of them names no sender."
    echo
    counts=$(ci/instructions.sh $(words "$counted_structures"))
    echo "$counts"
    echo "$counts" | awk -F'|' '
        $2 == " indexed " {
            print "\n`indexed` by operation, 25 a pair of the driver subtracted:\n"
            print "| queue | entries | instructions | best C engines | goal | met |"
            print "| --- | ---: | ---: | ---: | ---: | --- |"
            row("expected", 0, $3, "37-47", 40); row("unexpected", 0, $8, "37-47", 40)
            row("expected", 64, $7, "60-66", 60); row("unexpected", 64, $12, "60-66", 60)
        }
        function row(queue, entries, pair, best, goal,    operation) {
            operation = (pair - 25) / 2
            printf "| %s | %d | %.0f | %s | %d | %s |\n", queue, entries, operation, best, goal,
                operation <= goal ? "met" : sprintf("missed, %.2f times", operation / goal)
        }'
}

tail_instructions() {
    section "Single operations, instructions"
    echo "In a queue that grows to so many entries and drains, some ten of the loop included; \`list\` drains in order, the others"
    echo "at random."
    echo
    if [ -n "$quick" ]; then
        benches/tail.sh --depth 64 $(words "$counted_structures")
    else
        # A structure that visits half of the queue for each of this many entries would take days.
        echo "65,536 entries:"
        echo
        benches/tail.sh indexed
        printf '\n1,024 entries:\n\n'
        benches/tail.sh --depth 1024 --queues posted,unexpected $(words "$counted_structures")
        printf '\n4,096 entries:\n\n'
        benches/tail.sh --depth 4096 list indexed
    fi
}

# soak STRUCTURES OPERATIONS
soak() {
    "$programs/soak" --structure "$1" --operations "$2" </dev/null
}

budgets() {
    section "Budgets"
    echo "Random operations with limits for the engine and for each source and high-water marks, every answer compared with an"
    echo "oracle: on \`indexed\`, and on contexts that take the structures in turn."
    echo
    if [ -n "$quick" ]; then
        soak "$structures" 100000
    else
        soak indexed 100000000
        echo
        soak "$structures" 10000000
    fi
}

threads() {
    section "Threads"
    if [ -n "$quick" ]; then
        "$programs/contention" --format markdown --threads 1,2 --rounds 1 --pairs 1000
    else
        "$programs/contention" --format markdown
    fi
}

for table; do
    began=$(date +%s)
    case "$table" in
    head) head_of_report ;;
    traces)
        section "Recorded traces, time"
        limits traces --traces "$traces"
        ;;
    trace-instructions)
        section "Recorded traces, instructions"
        benches/trace-instructions.sh --traces "$counted_traces" $(words "$counted_structures")
        ;;
    instructions) instructions ;;
    rows)
        section "Rows"
        limits rows
        ;;
    wildcards)
        section "Wildcards"
        limits wildcards
        ;;
    keys)
        section "Chosen keys"
        limits keys
        ;;
    memory)
        section "Memory"
        limits memory
        ;;
    tail)
        section "Single operations, time"
        limits tail
        ;;
    tail-instructions) tail_instructions ;;
    budgets) budgets ;;
    threads) threads ;;
    esac
    echo "$table: $(($(date +%s) - began)) s" >&2
done
