#!/usr/bin/env bash
# Runs every benchmark once, untimed, and every table of the report in its quick form, to check that they work. Needs
# valgrind, which counts instructions for some tables.
set -euo pipefail
cd "$(dirname "$0")/.."
# Nothing is timed here, so build as for the tests, without the cross-crate optimisation that takes minutes, and with the
# features of all packages: others would be another build.
cargo test --quiet --workspace --benches
benches/report.sh --quick >/dev/null
