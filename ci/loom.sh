#!/usr/bin/env bash
# The shared engine and the shared-memory transport under the model checker: every interleaving of two or three threads
# at one race each, with at most LOOM_MAX_PREEMPTIONS forced switches in the engine's models (5 unless set) and
# LOOM_SHM_PREEMPTIONS in the transport's (3). Arguments select models by parts of their names, and go to the tests.
# Each of the two crates may take SECONDS_AT_MOST (600; MQ_SLOWER=5: five times that), once it is built.
set -euo pipefail
cd "$(dirname "$0")/.."
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-5}"
export RUSTFLAGS="${RUSTFLAGS:-} --cfg mq_loom"
# Optimised, but not across crates, since most of the time goes into building.
export CARGO_PROFILE_RELEASE_LTO=off
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom"
most_seconds=${SECONDS_AT_MOST:-$((600 * ${MQ_SLOWER:-1}))}
said=$(mktemp)
trap 'rm -f "$said"' EXIT
explored=0

# models SWITCHES ARGUMENTS...: explores models and adds up how many. If none was selected by name, there must be some.
models() {
    local most=$1 count status=0
    shift
    cargo test --release --no-run "$@"
    LOOM_MAX_PREEMPTIONS=$most timeout "$most_seconds" cargo test --release "$@" -- "${names[@]}" | tee "$said" ||
        status=$?
    [ "$status" -ne 124 ] || echo "ci/loom.sh: $* took more than $most_seconds s (on a slow machine: MQ_SLOWER=5)" >&2
    [ "$status" -eq 0 ] || exit "$status"
    count=$(sed -n 's/^test result: ok\. \([0-9]*\) passed.*/\1/p' "$said" | awk '{ n += $1 } END { print n + 0 }')
    explored=$((explored + count))
    if [ "$count" -eq 0 ] && [ ${#names[@]} -eq 0 ]; then
        echo "ci/loom.sh: no model of $* was explored" >&2
        exit 1
    fi
}

names=("$@")
models "$LOOM_MAX_PREEMPTIONS" -p mq-core --test loom
# The transport's models have more steps of their own, and fewer switches show the same errors.
models "${LOOM_SHM_PREEMPTIONS:-3}" -p mq-shm --lib models
[ "$explored" -gt 0 ] || { echo "ci/loom.sh: no model matches ${names[*]}" >&2 && exit 1; }
echo "$explored models explored"
