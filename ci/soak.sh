#!/usr/bin/env bash
# OPERATIONS random operations (10^6 unless set) on the default structure, and on contexts that use all
# structures in turn, checked against an incremental oracle and that of mq-trace; memory must not grow. For a
# whole night: OPERATIONS=10000000000 ci/soak.sh
set -euo pipefail
[ $# -eq 0 ] || {
    sed -n '2,/^set/s/^# //p' "$0"
    [ "$1" = --help ] || exit 2
    exit
} >&2
cd "$(dirname "$0")/.."
operations=${OPERATIONS:-1000000}
all=$(cargo run --quiet --release -p mq-benches --example instructions -- --structures | paste -sd, -)
for structures in indexed "$all"; do
    echo "== $structures"
    cargo run --quiet --release -p mq-benches --example soak -- \
        --operations "$operations" --structure "$structures" </dev/null
done
