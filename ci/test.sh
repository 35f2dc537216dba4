#!/usr/bin/env bash
# All tests. Further traces are replayed from MQ_TRACE_DIR, or from the shared folder beside the
# checkout where there is one.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${MQ_TRACE_DIR:-}" ] && [ -d ../shared/traces ]; then
    MQ_TRACE_DIR=$(cd ../shared/traces && pwd)
    export MQ_TRACE_DIR
fi
echo "further traces: ${MQ_TRACE_DIR:-none}"
# What a shell starts in the background ignores SIGINT, and so would all that the tests of `mq run` send it to.
env --default-signal cargo test --workspace --no-fail-fast
