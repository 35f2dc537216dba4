#!/usr/bin/env bash
# The README's command for all tests, run to its end even if some fail. MQ_TRACE_DIR may name a folder of further
# traces.
set -euo pipefail
# The tests run elsewhere.
[ -z "${MQ_TRACE_DIR:-}" ] || MQ_TRACE_DIR=$(realpath "$MQ_TRACE_DIR")
cd "$(dirname "$0")/.."
echo "further traces: ${MQ_TRACE_DIR:-none}"
command=$(sed -n '/^```sh$/,/^```$/p' README.md | grep '^cargo test ') || {
    echo "README.md has lost its command for the tests" >&2
    exit 1
}
# A shell's background jobs ignore SIGINT, and so would the processes to which the tests of `mq run` send it.
# shellcheck disable=SC2086 # one word for each argument
env --default-signal $command --no-fail-fast
