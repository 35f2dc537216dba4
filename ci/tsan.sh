#!/usr/bin/env bash
# The threaded tests under ThreadSanitizer, with a standard library built for it. Slow, and not part of .ci/run; needs
# the nightly compiler with its source (rustup component add rust-src --toolchain nightly).
#
# The tool identifies memory by its address, so it can only judge threads over one mapping: the heap form of a segment,
# the shared engine, and an engine of libmq with a lock. It does not support standalone fences; loom does (ci/loom.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
sources=$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library
[ -d "$sources" ] || rustup component add rust-src --toolchain nightly
export RUSTFLAGS="-Zsanitizer=thread" TSAN_OPTIONS="halt_on_error=1 ${TSAN_OPTIONS:-}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/tsan"
most_seconds=${SECONDS_AT_MOST:-$((900 * ${MQ_SLOWER:-1}))}
run() {
    local status=0 tests=(cargo +nightly test -Zbuild-std --target x86_64-unknown-linux-gnu "$@")
    echo "== $*"
    "${tests[@]}" --no-run
    timeout "$most_seconds" "${tests[@]}" || status=$?
    [ "$status" -ne 124 ] || echo "ci/tsan.sh: $* took more than $most_seconds s (on a slow machine: MQ_SLOWER=5)" >&2
    return "$status"
}
run -p mq-core --test shared_stress --test shared_divide --test shared_budget
run -p mq-shm --test order
run -p mq-comm --test one_mapping
run -p mq-ffi --test locked
