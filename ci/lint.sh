#!/usr/bin/env bash
# Formatting, clippy and rustdoc, each with warnings as errors.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all --check
# clippy.toml bans atomics outside a sync.rs; in mq-shm, which is made of them, by their path, and the one type that
# mq-core's shim hands on.
if grep -rnE '(core|std|loom)::(sync::atomic|cell|hint)' crates/mq-shm/src --include=*.rs | grep -v 'src/sync.rs' ||
    grep -rnE '(core|std|loom)::sync::atomic' crates/mq-core/src --include=*.rs | grep -v 'shared/sync.rs'; then
    echo "atomics and cells go through sync.rs" >&2
    exit 1
fi
cargo clippy --workspace --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
