#!/usr/bin/env bash
# Runs each fuzz target for SECONDS_EACH seconds (20 unless set) on a copy of the saved corpus.
# Installs the nightly compiler and cargo-fuzz if they are missing. Needs a C++ compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v c++ >/dev/null || { echo "ci/fuzz-smoke.sh: c++ is not installed; install g++" >&2 && exit 1; }
rustup run nightly rustc --version 2>/dev/null || rustup toolchain install nightly --profile minimal
command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for target in operations shared trace_reader segment; do
    corpus=$target
    # Both targets read the same format.
    [ "$target" != shared ] || corpus=operations
    [ -n "$(ls "fuzz/corpus/$corpus")" ] || { echo "ci/fuzz-smoke.sh: fuzz/corpus/$corpus is empty" >&2 && exit 1; }
    cp -r "fuzz/corpus/$corpus" "$scratch/$target"
    cargo +nightly fuzz run "$target" "$scratch/$target" -- \
        -max_total_time="${SECONDS_EACH:-20}" -timeout=20 -print_final_stats=1
done
