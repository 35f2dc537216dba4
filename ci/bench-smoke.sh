#!/usr/bin/env bash
# Every benchmark runs once, untimed, and every table of the report in its quick form, so that both are known to work.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo bench -- --test
benches/report.sh --quick >/dev/null
