#!/bin/sh
# Instructions of sending and receiving 8 bytes with mq-comm, both sides together. Blocking: fails above 250, half of what
# Buntinas, Mercier and Gropp (2006) report for MPICH2 over Nemesis. In windows of non-blocking operations, receives posted
# first: fails above 620. Needs valgrind.
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || {
    echo "ci/comm-instructions.sh: valgrind is not installed (apt-get install valgrind)." >&2
    exit 1
}
cargo build --quiet --release --package mq-comm --example message_instructions
program="${CARGO_TARGET_DIR:-target}/release/examples/message_instructions"

# instructions SWITCH ROUNDS HOW: those of a whole run.
instructions() {
    env "$1" valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$program" "$2" "$3" 2>&1 |
        sed -n 's/^.*I *refs: *//p' | tr -d ,
}

# message SWITCH HOW ROUNDS MESSAGES: those of one message, where a round has so many.
message() {
    fewer=$(instructions "$1" "$3" "$2")
    more=$(instructions "$1" $((2 * $3)) "$2")
    echo $(((more - fewer + $3 * $4 / 2) / ($3 * $4)))
}

within() {
    [ "$2" -le "$3" ] || {
        echo "ci/comm-instructions.sh: $1: $2 instructions, $3 are the bound." >&2
        exit 1
    }
}

echo '| 8 bytes, sent and received | blocking | in a window of 32 |'
echo '| --- | ---: | ---: |'
for switch in MQ_ALL=1 MQ_BYPASS=0 MQ_FASTBOX=0; do
    blocking=$(message $switch blocking 1000 1)
    window=$(message $switch window 100 32)
    echo "| $switch | $blocking | $window |"
    if [ $switch = MQ_ALL=1 ]; then
        all_blocking=$blocking
        all_window=$window
    fi
done
within blocking "$all_blocking" 250
within 'in a window' "$all_window" 620
