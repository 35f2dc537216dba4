#!/bin/sh
# Instructions of sending and receiving 8 bytes with mq-comm, both sides together. Blocking: fails above 250, half of what
# Buntinas, Mercier and Gropp (2006) report for MPICH2 over Nemesis. In windows of non-blocking operations, receives posted
# first: fails above 600. In a halo exchange of four processes, one border to each of its two neighbours twice over: fails
# above 840. Needs valgrind.
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || {
    echo "ci/comm-instructions.sh: valgrind is not installed (apt-get install valgrind)." >&2
    exit 1
}
cargo build --quiet --release --package mq-comm --example message_instructions --example exchange_instructions
examples="${CARGO_TARGET_DIR:-target}/release/examples"

# instructions SWITCH ROUNDS HOW: those of a whole run.
instructions() {
    case $3 in
    exchange) set -- "$1" "$examples/exchange_instructions" "$2" ;;
    *) set -- "$1" "$examples/message_instructions" "$2" "$3" ;;
    esac
    # A program that fails is counted, too.
    report=$(env "$1" timeout 300 valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null \
        "$2" "$3" ${4:+"$4"} 2>&1) || {
        echo "$report" >&2
        return 1
    }
    echo "$report" | sed -n 's/^.*I *refs: *//p' | tr -d ,
}

# message SWITCH HOW ROUNDS MESSAGES: those of one message, where a round has so many.
message() {
    fewer=$(instructions "$1" "$3" "$2") && more=$(instructions "$1" $((2 * $3)) "$2") &&
        [ -n "$fewer" ] && [ -n "$more" ] || {
        echo "ci/comm-instructions.sh: $1, $2: it did not end within five minutes, or not well." >&2
        exit 1
    }
    echo $(((more - fewer + $3 * $4 / 2) / ($3 * $4)))
}

within() {
    # No message goes by fewer than half a hundred.
    [ "$2" -le "$3" ] && [ "$2" -ge 50 ] || {
        echo "ci/comm-instructions.sh: $1: $2 instructions, where 50 to $3 are the bounds." >&2
        exit 1
    }
}

echo '| 8 bytes, sent and received | blocking | in a window of 32 | in a halo exchange of 4 processes |'
echo '| --- | ---: | ---: | ---: |'
all=MQ_BYPASS=1 # as unless set
for switch in $all MQ_BYPASS=0 MQ_FASTBOX=0; do
    blocking=$(message $switch blocking 1000 1)
    window=$(message $switch window 100 32)
    exchange=$(message $switch exchange 100 16)
    name=$switch
    [ $switch != $all ] || name='all on'
    echo "| $name | $blocking | $window | $exchange |"
    if [ $switch = $all ]; then
        all_blocking=$blocking
        all_window=$window
        all_exchange=$exchange
    fi
done
within blocking "$all_blocking" 250
within 'in a window' "$all_window" 600
within 'in a halo exchange' "$all_exchange" 840
