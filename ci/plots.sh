#!/usr/bin/env bash
# Checks that the plots in docs/measured/plots are drawn from the printed documents as they are.
# `ci/plots.sh --write` draws them anew.
set -euo pipefail
cd "$(dirname "$0")/.."
case "$*" in
'') what=--check ;;
--write) what= ;;
*)
    echo "usage: ci/plots.sh [--write]" >&2
    exit 2
    ;;
esac
cargo run --quiet --release --package mq-benches --example plots -- $what
