#!/usr/bin/env bash
# The README's two commands as in a fresh clone, without the network: the crates are fetched already. Where this
# checkout is as a clone would be, with nothing changed, added or ignored but what was built, they run here, and of the
# second one, which test.sh passes, only the tests to which that gives further traces from elsewhere. Otherwise, or with
# --whole, both run in a clone, to their ends.
set -euo pipefail
cd "$(dirname "$0")/.."
whole=no
case "$*" in
--whole) whole=yes ;;
'') ;;
*) echo "ci/fresh-clone.sh: it takes --whole or nothing, not \`$*\`" >&2 && exit 2 ;;
esac
changed=$(git status --porcelain --ignored)
if grep -vE '^(!! (.*/)?(target|artifacts)/)?$' <<<"$changed"; then
    whole=yes
fi
scratch=$(mktemp -d)
# shellcheck disable=SC2329 # by the trap
leave() {
    # Tests have the place of their sources in them: none that was built from the clone may stay for this checkout.
    if [ -d "$scratch/mq" ]; then
        packages=$(sed -s -n '2s/^name = "\(.*\)"$/--package=\1/p' "$scratch"/mq/crates/*/Cargo.toml \
            "$scratch"/mq/{benches,examples}/Cargo.toml)
        # shellcheck disable=SC2086 # one word for each package
        (cd "$scratch/mq" && cargo clean --quiet $packages) || true
    fi
    rm -rf "$scratch"
}
trap leave EXIT
export CARGO_NET_OFFLINE=true
if [ $whole = yes ]; then
    git clone --quiet . "$scratch/mq"
    # What is changed and tracked goes along; a file that nobody has added is missing, as it would be for others.
    git diff --binary HEAD >"$scratch/changes"
    [ ! -s "$scratch/changes" ] || git -C "$scratch/mq" apply --index "$scratch/changes"
    # The build is shared with this checkout; what is cloned is what is compiled.
    export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
    cd "$scratch/mq"
fi
sed -n '/^```sh$/,/^```$/p' README.md | grep '^cargo ' >"$scratch/commands"
[ "$(wc -l <"$scratch/commands")" -ge 2 ] || { echo "README.md has lost its commands" >&2; exit 1; }
while read -r command; do
    if [ $whole = no ] && [[ $command == 'cargo test '* ]]; then
        echo "($command: test.sh)"
        # Of the workspace, as test.sh has it: of the package alone it would be built anew, with other features.
        command='cargo test --workspace --test traces'
    fi
    echo "\$ $command"
    # With signals as a terminal gives them: see test.sh.
    env --default-signal -u MQ_TRACE_DIR $command </dev/null
done <"$scratch/commands"
