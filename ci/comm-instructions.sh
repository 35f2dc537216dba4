#!/bin/sh
# Instructions for sending and receiving 8 bytes with mq-comm, both sides together: a Markdown table, or a check of it.
set -eu
self=ci/comm-instructions.sh
. "$(dirname "$0")/counting.sh"

usage() {
    cat <<'TEXT'
usage: ci/comm-instructions.sh [--check | --write REASON]

Counts the machine instructions for sending and receiving 8 bytes, both sides together: blocking; in windows of
non-blocking operations, receives posted first; in a halo exchange of four processes, with two borders for each of a
process's two neighbours. Once with everything on, and with two of the paths switched off.

--check fails above 250 blocking (half of what Buntinas, Mercier and Gropp (2006) report for MPICH2 over Nemesis), above
610 in a window and 920 in an exchange, all with everything on; and if a count has changed by more than 3 % against
benches/node/instructions.baseline. It uses the compiler of the baseline, and installs it by rustup if it is missing.
--write stores the current counts as the baseline, with REASON, which says why they are right.

Needs valgrind; respects CARGO_TARGET_DIR.
TEXT
}

parse_action "$@"
[ $# -eq $used ] || wrong_usage
need valgrind

cd "$(dirname "$0")/.."
# Count with default settings, whatever the caller has set.
for name in $(env | sed -n 's/^\(MQ_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
baseline=benches/node/instructions.baseline
[ $action != check ] || use_compiler_of $baseline
cargo build --quiet --release --package mq-comm --example message_instructions --example exchange_instructions
examples="${CARGO_TARGET_DIR:-target}/release/examples"

# Messages of a window; the example has the number.
source=crates/mq-comm/examples/message_instructions.rs
messages=$(sed -n 's/^const WINDOW: usize = \([0-9]*\);$/\1/p' $source)
[ -n "$messages" ] || { complain "$source has no line \`const WINDOW\`." && exit 1; }

# once SWITCH ROUNDS HOW: prints the instructions of a whole run.
once() (
    export "${1?}"
    case $3 in
    exchange) instructions "$examples/exchange_instructions" "$2" ;;
    *) instructions "$examples/message_instructions" "$2" "$3" ;;
    esac
)

# whole SWITCH ROUNDS HOW: the same, without what a process does now and then by the clock: the least that two runs have
# had, or the least of ten.
whole() {
    least=
    for run in 1 2 3 4 5 6 7 8 9 10; do
        count=$(once "$@") || return 1
        if [ "$count" = "$least" ]; then
            break
        elif [ -z "$least" ] || [ "$count" -lt "$least" ]; then
            least=$count
        fi
    done
    echo "$least"
}

# message SWITCH HOW ROUNDS MESSAGES: prints those of one message, given the messages of a round.
message() {
    fewer=$(whole "$1" "$3" "$2") || return 1
    more=$(whole "$1" $((2 * $3)) "$2") || return 1
    each "$fewer" "$more" $(($3 * $4))
}

# The counts, a line `SWITCH HOW INSTRUCTIONS` for each.
counts=
echo "| 8 bytes, sent and received | blocking | in a window of $messages | in a halo exchange of 4 processes |"
echo '| --- | ---: | ---: | ---: |'
all=MQ_BYPASS=1 # as unless set
for switch in $all MQ_BYPASS=0 MQ_FASTBOX=0; do
    blocking=$(message $switch blocking 1000 1) || exit 1
    window=$(message $switch window 100 "$messages") || exit 1
    exchange=$(message $switch exchange 100 16) || exit 1
    name=$switch
    [ $switch != $all ] || name='all on'
    echo "| $name | $blocking | $window | $exchange |"
    counts="$counts$switch blocking $blocking
$switch window $window
$switch exchange $exchange
"
done

case $action in
write) printf %s "$counts" | write_counts $baseline "compiler: $(compiler); $(counted_with)" ;;
check) printf %s "$counts" | check_counts $baseline 3 "$all blocking 250;$all window 610;$all exchange 920" ;;
esac
