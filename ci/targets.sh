#!/usr/bin/env bash
# Whether the libraries and `mq` compile for other machines than the one they are developed on: 64-bit ARM, and x86-64
# with musl instead of glibc. Arguments name other targets instead. ci/aarch64.sh runs the tests of the first.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- aarch64-unknown-linux-gnu x86_64-unknown-linux-musl
for target in "$@"; do
    grep -qx "$target" <<<"$(rustup target list --installed)" || rustup target add "$target"
    CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/targets cargo check -p mq-core -p mq-shm -p mq-comm -p mq-ffi \
        -p mq-trace -p mq-cli --target "$target"
done
