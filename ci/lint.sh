#!/usr/bin/env bash
# Formatting, clippy and rustdoc, each with warnings as errors, and lock files that fit their manifests. Adds rustfmt
# and clippy to rustup's toolchain if they are missing. Needs a C++ compiler, for what the fuzz targets are linked with.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v c++ >/dev/null || { echo "ci/lint.sh: c++ is not installed; install g++" >&2 && exit 1; }
for component in rustfmt clippy; do
    cargo "${component#rust}" --version >/dev/null 2>&1 || rustup component add $component || {
        echo "ci/lint.sh: cargo ${component#rust} does not run: install $component for $(rustc --version)" >&2
        exit 1
    }
done
# First: a command without --locked would bring a lock file up to date in silence.
host=$(rustc -vV | sed -n 's/^host: //p')
for manifest in Cargo.toml fuzz/Cargo.toml; do
    cargo metadata --locked --format-version 1 --filter-platform "$host" --manifest-path $manifest >/dev/null || {
        echo "ci/lint.sh: if ${manifest%toml}lock does not fit its manifests, run this and commit it:" \
            "cargo update --workspace --manifest-path $manifest" >&2
        exit 1
    }
done
cargo fmt --all --check
# rustfmt leaves comments as long as they are; rows of tables may be.
long=$(git ls-files -z '*.rs' | xargs -0 awk '/^ *\/\// && length > 120 && !/^ *\/\/[\/!]? *\|/ { print FILENAME ":" FNR ": " $0 }')
[ -z "$long" ] || { echo "$long" && echo "ci/lint.sh: these comments are longer than 120 columns" >&2 && exit 1; }
# A module with a folder is the file beside it. (Of tests, `common/mod.rs` keeps cargo from making a test of it.)
inside=$(git ls-files 'crates/*/src/*mod.rs' | grep '/mod\.rs$') &&
    echo "$inside" && echo "ci/lint.sh: move these beside their folders, as FOLDER.rs" >&2 && exit 1
for sources in crates/mq-shm/src/sync.rs crates/mq-core/src/shared/sync.rs; do
    [ -f "$sources" ] || { echo "ci/lint.sh: $sources no longer exists" >&2 && exit 1; }
done
# clippy.toml bans atomics outside a sync.rs. This checks their paths too: in mq-shm, which is made of atomics, and for
# the one type that mq-core's shim re-exports.
if grep -rnE '\b(core|std|loom)::(sync::(\{.*)?atomic|cell|hint|\{)' crates/mq-shm/src --include=*.rs | grep -v 'src/sync.rs' ||
    grep -rnE '\b(core|std|loom)::(sync::(\{.*)?atomic|\{)' crates/mq-core/src --include=*.rs | grep -v 'shared/sync.rs'; then
    echo "use atomics and cells only through sync.rs" >&2
    exit 1
fi
cargo clippy --workspace --all-targets -- -D warnings
# Code that is built with features and flags of its own.
cargo clippy -p mq-shm -p mq-comm --features mq-shm/_steps,mq-comm/_steps --all-targets -- -D warnings
for models in '-p mq-core --test loom' '-p mq-shm --lib --profile test'; do
    # shellcheck disable=SC2086 # one word for each argument
    RUSTFLAGS="${RUSTFLAGS:-} --cfg mq_loom" cargo clippy --target-dir "${CARGO_TARGET_DIR:-target}/loom" $models -- -D warnings \
        -A clippy::modulo_one # sizes are 1 in the models
done
cargo fmt --manifest-path fuzz/Cargo.toml --check
# Its clippy needs MPI; see mpi.sh.
cargo fmt --manifest-path integrations/differential/Cargo.toml --check
cargo clippy --manifest-path fuzz/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}/fuzz" -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
