#!/usr/bin/env bash
# Installs libmq into a scratch folder, compiles the C examples against it, shared and static, as
# pkg-config says, and runs them under valgrind.
set -euo pipefail
cd "$(dirname "$0")/.."
for need in valgrind pkg-config cc make; do
    command -v "$need" >/dev/null || {
        echo "ci/c.sh: $need is not installed; install the package of that name (cc: gcc)" >&2
        exit 1
    }
done
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
make --silent -C crates/mq-ffi install PREFIX="$made" TARGET="${CARGO_TARGET_DIR:-$PWD/target}"
export PKG_CONFIG_PATH=$made/lib/pkgconfig LD_LIBRARY_PATH=$made/lib
flags="-std=c99 -g -Wall -Wextra -Werror -pedantic $(pkg-config --cflags mq)"
for source in examples/c/*.c; do
    name=$(basename "$source" .c)
    cc $flags "$source" $(pkg-config --libs mq) -o "$made/$name-shared"
    cc $flags "$source" "$made/lib/libmq.a" -lpthread -ldl -lm -o "$made/$name-static"
    for program in "$made/$name-shared" "$made/$name-static"; do
        echo "== $(basename "$program")"
        valgrind --quiet --leak-check=full --error-exitcode=1 "$program"
    done
done
