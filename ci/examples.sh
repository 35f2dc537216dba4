#!/usr/bin/env bash
# Every example runs and ends well.
set -euo pipefail
cd "$(dirname "$0")/.."
for source in examples/*.rs; do
    name=$(basename "$source" .rs)
    echo "== $name"
    cargo run --quiet --release -p mq-examples --example "$name"
done
