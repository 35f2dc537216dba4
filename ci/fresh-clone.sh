#!/usr/bin/env bash
# The README's two commands as in a fresh clone, without the network: the crates are already fetched. If this checkout
# is like a clone, with nothing changed, added or ignored but build output, they run here; of the second command, which
# test.sh runs, only the tests that test.sh gives further traces, if MQ_TRACE_DIR names some. Otherwise, or with
# --whole, both run completely in a clone. Last, the tests of `mq` once more, with few programs to be found.
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
# shellcheck disable=SC2329 # called by the trap
leave() {
    # Tests contain the path of their sources: nothing built from the clone may stay for this checkout.
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
    # By its full name, as .ci/run's safe.directory has it.
    git clone --quiet "$(pwd -P)" "$scratch/mq"
    # Changes to tracked files are included; untracked files are missing, as they would be for others.
    git diff --binary HEAD >"$scratch/changes"
    [ ! -s "$scratch/changes" ] || git -C "$scratch/mq" apply --index "$scratch/changes"
    # The target directory is shared with this checkout; the clone's sources are compiled.
    export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
    cd "$scratch/mq"
fi
sed -n '/^```sh$/,/^```$/p' README.md | grep '^cargo ' >"$scratch/commands"
[ "$(wc -l <"$scratch/commands")" -ge 2 ] || { echo "README.md has lost its commands" >&2; exit 1; }
while read -r command; do
    if [ $whole = no ] && [[ $command == 'cargo test '* ]]; then
        echo "($command: test.sh)"
        # Without further traces it has run just these.
        [ -n "${MQ_TRACE_DIR+set}" ] || continue
        # For the workspace, as in test.sh: for the package alone it would be rebuilt with other features.
        command='cargo test --workspace --test traces'
    fi
    echo "\$ $command"
    # With default signal handling, as from a terminal: see test.sh.
    env --default-signal -u MQ_TRACE_DIR $command </dev/null
done <"$scratch/commands"
# By the README they need only the Rust toolchain and a C linker, on a system with a shell and the coreutils. The tests
# of `mq` start most programs. (For the workspace, as above: it is all built.) The path of temporary files has a space.
programs=$scratch/programs
mkdir "$programs" "$scratch/temporary files"
toolchain=$(rustc --print sysroot)/bin
for name in cargo rustc cc ld sh \
    basename cat chmod chown cksum comm cp cut date dd df dirname du echo env expand expr false fold head id install \
    join link ln ls md5sum mkdir mkfifo mktemp mv nice nl nohup nproc od paste printenv printf pwd readlink realpath \
    rm rmdir seq sha256sum sleep sort split stat stty sync tac tail tee test timeout touch tr true truncate tty uname \
    unexpand uniq unlink wc who whoami yes; do
    # Not rustup's `cargo`, which adds a folder to PATH.
    path=$(PATH=$toolchain:$PATH && type -P "$name") || continue
    ln -s "$path" "$programs/$name"
done
command='cargo test --workspace --bin mq --test cli --test run'
echo "\$ $command (few programs)"
$command --quiet --no-run
# Without MQ_ALL_CHECKS: a test may say that it needs another program.
env --default-signal -u MQ_TRACE_DIR -u MQ_ALL_CHECKS PATH="$programs" TMPDIR="$scratch/temporary files" \
    $command </dev/null
