#!/bin/sh
# Instructions of sending and receiving 8 bytes with mq-comm, both sides together; fails above 250, half of what
# Buntinas, Mercier and Gropp (2006) report for MPICH2 over Nemesis. Needs valgrind.
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || {
    echo "ci/comm-instructions.sh: valgrind is not installed (apt-get install valgrind)." >&2
    exit 1
}
cargo build --quiet --release --package mq-comm --example message_instructions
program="${CARGO_TARGET_DIR:-target}/release/examples/message_instructions"

# instructions SWITCH ROUNDS: those of a whole run.
instructions() {
    env "$1" valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$program" "$2" 2>&1 |
        sed -n 's/^.*I *refs: *//p' | tr -d ,
}

# message SWITCH: those of one message.
message() {
    fewer=$(instructions "$1" 1000)
    more=$(instructions "$1" 2000)
    echo $(((more - fewer + 500) / 1000))
}

echo '| 8 bytes, sent and received | instructions |'
echo '| --- | ---: |'
for switch in MQ_ALL=1 MQ_BYPASS=0 MQ_FASTBOX=0; do
    count=$(message $switch)
    echo "| $switch | $count |"
    [ $switch != MQ_ALL=1 ] || bound=$count
done
[ "$bound" -le 250 ] || {
    echo "ci/comm-instructions.sh: $bound instructions, 250 are the bound." >&2
    exit 1
}
