#!/usr/bin/env bash
# Whether the crates compile for other machines than the one they are developed on: all libraries and `mq` for 64-bit ARM
# and for x86-64 with musl instead of glibc, and what is not for Linux only for macOS. Arguments name targets instead.
# ci/aarch64.sh runs the tests of the first.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- aarch64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-apple-darwin
for target in "$@"; do
    grep -qx "$target" <<<"$(rustup target list --installed)" || rustup target add "$target"
    crates=(-p mq-core -p mq-trace -p mq-ffi -p mq-cli)
    case "$target" in
    *-linux-*) crates+=(-p mq-shm -p mq-comm) ;;
    esac
    CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/targets cargo check "${crates[@]}" --target "$target"
done
