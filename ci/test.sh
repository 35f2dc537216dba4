#!/usr/bin/env bash
# The README's command that passes all tests, to its end where some fail. MQ_TRACE_DIR may name a folder of further
# traces.
set -euo pipefail
cd "$(dirname "$0")/.."
echo "further traces: ${MQ_TRACE_DIR:-none}"
command=$(sed -n '/^```sh$/,/^```$/p' README.md | grep '^cargo test ') || {
    echo "README.md has lost its command for the tests" >&2
    exit 1
}
# What a shell starts in the background ignores SIGINT, and so would all that the tests of `mq run` send it to.
# shellcheck disable=SC2086 # one word for each argument
env --default-signal $command --no-fail-fast
