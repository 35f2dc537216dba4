#!/usr/bin/env bash
# Every benchmark runs once, untimed, so that `cargo bench` is known to work.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo bench -- --test
