#!/usr/bin/env bash
# Kills processes at every step of sending and receiving, of the transport and of the protocol above it, and at random
# times for MQ_KILL_SECONDS each (5 unless set). MQ_KILL_STEPS=NAME,... selects steps in mq-comm's tests.
set -euo pipefail
[ $# -eq 0 ] || {
    sed -n '2,/^set/s/^# //p' "$0"
    [ "$1" = --help ] || exit 2
    exit
} >&2
cd "$(dirname "$0")/.."
# Both at once: the features of one would give another build of what they share.
tests=(cargo test -p mq-shm -p mq-comm --features "mq-shm/_steps,mq-comm/_steps" --test killed)
"${tests[@]}" --no-run
most_seconds=$(((2 * ${MQ_KILL_SECONDS:-5} + 1200) * ${MQ_SLOWER:-1}))
said=$(mktemp)
trap 'rm -f "$said"' EXIT
status=0
timeout "$most_seconds" "${tests[@]}" -- --nocapture 2>&1 | tee "$said" || status=$?
[ "$status" -ne 124 ] || echo "ci/kill.sh: it took more than $most_seconds s (on a slow machine: MQ_SLOWER=5)" >&2
[ "$status" -eq 0 ] || exit "$status"
# Cargo is content if one of the packages has such tests, and with a program that has none.
for program in tests/killed.rs tests/killed/main.rs; do
    grep -q "Running.* $program " "$said" || { echo "ci/kill.sh: there is no $program" >&2 && exit 1; }
done
if grep '^test result: .* 0 passed' "$said" >&2; then
    echo "ci/kill.sh: a program has no tests" >&2
    exit 1
fi
