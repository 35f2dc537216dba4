#!/usr/bin/env bash
# Checks that the committed mq.h is what cbindgen makes of crates/mq-ffi, and that it and mq_inline.h compile as C99 and
# C++17. `ci/headers.sh --write` rewrites it. Needs cc and c++. Installs the cbindgen version that wrote the header
# if another or none is installed, since other versions may format the same interface differently.
set -euo pipefail
cd "$(dirname "$0")/.."
case "$*" in
'' | --write) ;;
*)
    echo "usage: ci/headers.sh [--write]" >&2
    exit 2
    ;;
esac
wanted=0.29.4
[ "$(cbindgen --version 2>/dev/null)" = "cbindgen $wanted" ] || cargo install cbindgen --version $wanted --locked --force
header=crates/mq-ffi/include/mq.h
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cbindgen --quiet --config crates/mq-ffi/cbindgen.toml crates/mq-ffi -o "$made/mq.h"
if [ "${1:-}" = --write ]; then
    cp "$made/mq.h" "$header"
elif ! diff -u "$header" "$made/mq.h"; then
    echo "ci/headers.sh: $header does not match the code; run ci/headers.sh --write" >&2
    exit 1
fi
# Behind the system's, of which they must declare nothing again.
printf '#include <pthread.h>\n#include <stdlib.h>\n#include "mq.h"\n#include "mq_inline.h"\nint main(void) { return 0; }\n' \
    >"$made/header.c"
flags="-Wall -Wextra -Wredundant-decls -Werror -pedantic -Icrates/mq-ffi/include"
cc -std=c99 $flags -c "$made/header.c" -o "$made/c.o"
c++ -std=c++17 -x c++ $flags -c "$made/header.c" -o "$made/cpp.o"
echo "$header is current, C99 and C++17"
