#!/usr/bin/env bash
# Formatting, clippy and rustdoc, each with warnings as errors.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all --check
# clippy.toml bans atomics outside a sync.rs; in mq-shm, which is made of them, by their path.
if grep -rnE '(core|std|loom)::(sync::atomic|cell|hint)' crates/mq-shm/src --include=*.rs | grep -v 'src/sync.rs'; then
    echo "crates/mq-shm/src: atomics and cells go through sync.rs" >&2
    exit 1
fi
cargo clippy --workspace --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
