#!/usr/bin/env bash
# The README's two commands in a fresh clone, without the network: the crates are fetched already. Where this checkout
# is as a clone would be, with nothing changed, added or ignored but what was built, test.sh passes the second one
# here. Of the clone's tests those run then that would take further traces from elsewhere; the others are compiled, but
# for the documentation's examples. (--whole passes them all.)
set -euo pipefail
cd "$(dirname "$0")/.."
how=--no-run
if [ "${1:-}" = --whole ] || git status --porcelain --ignored | grep -vE '^!! (target|fuzz/target|fuzz/artifacts)/$'; then
    how=
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git clone --quiet . "$scratch/mq"
export CARGO_NET_OFFLINE=true
# The build is shared with this checkout; what is cloned is what is compiled.
export CARGO_TARGET_DIR=$PWD/target
cd "$scratch/mq"
sed -n '/^```sh$/,/^```$/p' README.md | grep '^cargo ' >"$scratch/commands"
[ "$(wc -l <"$scratch/commands")" -ge 2 ] || { echo "README.md has lost its commands" >&2; exit 1; }
while read -r command; do
    case $command in 'cargo test '*) command="$command${how:+ $how}" ;; esac
    echo "\$ $command"
    # With signals as a terminal gives them: see test.sh.
    env --default-signal $command </dev/null
done <"$scratch/commands"
[ -z "$how" ] || env -u MQ_TRACE_DIR cargo test --package mq-trace --test traces </dev/null
# Tests have the place of their sources in them: none that was built from the clone may stay for this checkout.
packages=$(sed -s -n '2s/^name = "\(.*\)"$/--package=\1/p' crates/*/Cargo.toml benches/Cargo.toml examples/Cargo.toml)
# shellcheck disable=SC2086 # one word for each package
cargo clean --quiet $packages
