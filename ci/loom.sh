#!/usr/bin/env bash
# The shared engine and the shared-memory transport under the model checker: every interleaving of two or three threads at one race
# each, with at most LOOM_MAX_PREEMPTIONS forced switches (5 unless set). Arguments go to the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-5}"
export RUSTFLAGS="${RUSTFLAGS:-} --cfg loom"
# Optimised, but not across crates: most of the time goes into building.
export CARGO_PROFILE_RELEASE_LTO=off
target=${CARGO_TARGET_DIR:-target}/loom
CARGO_TARGET_DIR=$target timeout "${SECONDS_AT_MOST:-600}" \
    cargo test --release -p mq-core --test loom_gate -- "$@"
# The transport's models have more steps of their own, and fewer switches show the same mistakes.
LOOM_MAX_PREEMPTIONS="${LOOM_SHM_PREEMPTIONS:-3}" CARGO_TARGET_DIR=$target timeout "${SECONDS_AT_MOST:-600}" \
    cargo test --release -p mq-shm --lib models -- "$@"
