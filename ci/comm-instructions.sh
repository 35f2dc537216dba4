#!/bin/sh
# Instructions for sending and receiving 8 bytes with mq-comm, both sides together: a Markdown table, or a check of it.
set -eu

usage() {
    cat <<'TEXT'
usage: ci/comm-instructions.sh [--check | --write REASON]

Counts the machine instructions for sending and receiving 8 bytes, both sides together: blocking; in windows of
non-blocking operations, receives posted first; in a halo exchange of four processes, with two borders for each of a
process's two neighbours. Once with everything on, and with two of the paths switched off.

--check fails above 250 blocking (half of what Buntinas, Mercier and Gropp (2006) report for MPICH2 over Nemesis), above
570 in a window and 920 in an exchange, all with everything on; and if a count has changed by more than 3 % against
benches/node/instructions.baseline. It uses the compiler of the baseline, and installs it by rustup if it is missing.
--write stores the current counts as the baseline, with REASON, which says why they are right.

Needs valgrind; respects CARGO_TARGET_DIR.
TEXT
}

action=table reason=
case "${1:-}" in
-h | --help)
    usage
    exit 0
    ;;
--check)
    action=check
    shift
    ;;
--write)
    action=write reason=${2:-}
    [ -n "$reason" ] || { usage >&2; exit 2; }
    shift 2
    ;;
esac
[ $# -eq 0 ] || { usage >&2; exit 2; }

cd "$(dirname "$0")/.."
# Count with default settings, whatever the caller has set.
for name in $(env | sed -n 's/^\(MQ_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
command -v valgrind >/dev/null || {
    echo "ci/comm-instructions.sh: valgrind is not installed (apt-get install valgrind)." >&2
    exit 1
}
baseline=benches/node/instructions.baseline
if [ $action = check ]; then
    . ci/baseline-compiler.sh
    use_compiler_of $baseline
fi
cargo build --quiet --release --package mq-comm --example message_instructions --example exchange_instructions
examples="${CARGO_TARGET_DIR:-target}/release/examples"

# instructions SWITCH ROUNDS HOW: prints those of a whole run.
instructions() {
    case $3 in
    exchange) set -- "$1" "$examples/exchange_instructions" "$2" ;;
    *) set -- "$1" "$examples/message_instructions" "$2" "$3" ;;
    esac
    # valgrind also counts a program that fails.
    report=$(env "$1" timeout 300 valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null \
        "$2" "$3" ${4:+"$4"} 2>&1) || {
        echo "$report" >&2
        return 1
    }
    echo "$report" | sed -n 's/^.*I *refs: *//p' | tr -d ,
}

# message SWITCH HOW ROUNDS MESSAGES: prints those of one message, given the messages of a round.
message() {
    fewer=$(instructions "$1" "$3" "$2") && more=$(instructions "$1" $((2 * $3)) "$2") &&
        [ -n "$fewer" ] && [ -n "$more" ] || {
        echo "ci/comm-instructions.sh: $1, $2: it did not end within five minutes, or it failed." >&2
        exit 1
    }
    echo $(((more - fewer + $3 * $4 / 2) / ($3 * $4)))
}

# The counts, a line `SWITCH HOW INSTRUCTIONS` for each.
counts=
echo '| 8 bytes, sent and received | blocking | in a window of 30 | in a halo exchange of 4 processes |'
echo '| --- | ---: | ---: | ---: |'
all=MQ_BYPASS=1 # as unless set
for switch in $all MQ_BYPASS=0 MQ_FASTBOX=0; do
    blocking=$(message $switch blocking 1000 1)
    window=$(message $switch window 100 32)
    exchange=$(message $switch exchange 100 16)
    name=$switch
    [ $switch != $all ] || name='all on'
    echo "| $name | $blocking | $window | $exchange |"
    counts="$counts$switch blocking $blocking
$switch window $window
$switch exchange $exchange
"
done

case $action in
write)
    {
        echo "# Instructions of a message; ci/comm-instructions.sh --check compares with them. Do not edit: --write."
        echo "# compiler: $(rustc --version | cut -d' ' -f1-2)"
        echo "# reason: $reason"
        printf %s "$counts"
    } >$baseline
    echo "wrote $baseline"
    ;;
check)
    printf %s "$counts" | awk -v baseline=$baseline -v all=$all '
        BEGIN {
            bound["blocking"] = 250; bound["window"] = 570; bound["exchange"] = 920
            while ((getline line < baseline) > 0)
                if (line !~ /^#/) { split(line, f, " "); before[f[1] " " f[2]] = f[3]; wanted++ }
        }
        {
            seen++
            was = before[$1 " " $2]
            change = was == "" ? 100 : 100 * ($3 - was) / was
            wrong = 0
            if (change > 3 || change < -3) {
                printf "%s, %s: %d instructions, the baseline has %s\n", $1, $2, $3, was == "" ? "none" : was
                changed++
                wrong = 1
            }
            if ($1 == all && $3 > bound[$2]) {
                printf "%s: %d instructions, above the bound of %d\n", $2, $3, bound[$2]
                beyond++
                wrong = 1
            }
            failed += wrong
        }
        END {
            if (seen != wanted) printf "%d counts, but the baseline has %d\n", seen, wanted
            printf "%d passed, %d failed\n", seen - failed, failed + (seen != wanted)
            if (changed) {
                print "A count changed by more than 3 %. If that is right, rewrite the baseline in the same commit:"
                print "    ci/comm-instructions.sh --write REASON"
            }
            exit changed > 0 || beyond > 0 || seen == 0 || seen != wanted
        }'
    ;;
esac
