#!/usr/bin/env bash
# Processes killed at every step of sending and receiving, and at random for MQ_KILL_SECONDS (5 unless set).
set -euo pipefail
cd "$(dirname "$0")/.."
timeout "$((${MQ_KILL_SECONDS:-5} + 600))" cargo test -p mq-shm --features steps --test killed -- --nocapture
