#!/usr/bin/env bash
# Every benchmark runs once, untimed, and every table of the report in its quick form, so that both are known to work.
# Needs valgrind, with which some tables count.
set -euo pipefail
cd "$(dirname "$0")/.."
# Nothing is timed here, so they are built as the tests are, not with the optimization across crates that takes minutes.
cargo test --quiet -p mq-benches --benches
benches/report.sh --quick >/dev/null
