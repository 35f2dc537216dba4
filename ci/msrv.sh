#!/usr/bin/env bash
# Builds the whole workspace with the oldest compiler that it promises to support.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
rustup run "$version" rustc --version 2>/dev/null ||
    rustup toolchain install "$version" --profile minimal
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/msrv cargo "+$version" check --workspace --all-targets
