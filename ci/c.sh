#!/usr/bin/env bash
# Installs libmq into a scratch folder, compiles the C examples and tests against it, shared and static, with the flags
# of pkg-config, and runs them under valgrind; the tests also with AddressSanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
for need in valgrind pkg-config cc c++ make; do
    command -v "$need" >/dev/null || {
        echo "ci/c.sh: $need is not installed; install the package of that name (cc: gcc, c++: g++)" >&2
        exit 1
    }
done
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
make --silent -C crates/mq-ffi install PREFIX="$made" TARGET="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
export PKG_CONFIG_PATH=$made/lib/pkgconfig LD_LIBRARY_PATH=$made/lib
# The soname that callers record must be installed and lead to this library.
recorded=$(readelf -d "$made/lib/libmq.so" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')
[ -n "$recorded" ] && [ "$(readlink -f "$made/lib/$recorded")" = "$(readlink -f "$made/lib/libmq.so")" ] || {
    echo "ci/c.sh: the soname \`$recorded\` is not the name under which the library is installed" >&2
    exit 1
}
flags="-std=c99 -D_DEFAULT_SOURCE -g -Wall -Wextra -Werror -pedantic $(pkg-config --cflags mq)"
static="$made/lib/libmq.a -Wl,--gc-sections -lpthread -ldl -lm"
run() {
    echo "== $(basename "$1")"
    valgrind --quiet --leak-check=full --error-exitcode=1 "$1"
}
# The example that the crate's README shows is one of them.
sed -n '/^```c$/,/^```$/{/^```/d;p}' crates/mq-ffi/README.md >"$made/readme.c"
grep -q 'int main' "$made/readme.c" || { echo "ci/c.sh: crates/mq-ffi/README.md has lost its example" >&2 && exit 1; }
for source in examples/c/*.c crates/mq-ffi/tests/c/*.c "$made/readme.c"; do
    name=$(basename "$source" .c)
    cc $flags "$source" $(pkg-config --libs mq) -o "$made/$name-shared"
    cc $flags "$source" $static -o "$made/$name-static"
    run "$made/$name-shared"
    run "$made/$name-static"
done
# Its children end by a signal, each without giving anything back: not for valgrind.
for linked in "$(pkg-config --libs mq)" "$static"; do
    c++ -std=c++17 -g -Wall -Wextra -Werror -pedantic $(pkg-config --cflags mq) crates/mq-ffi/tests/c/throws.cpp $linked \
        -o "$made/throws"
    echo "== throws"
    "$made/throws"
done
# What is about a thread's stack: valgrind and AddressSanitizer have ideas of their own about it.
for source in crates/mq-ffi/tests/c/plain/*.c; do
    name=$(basename "$source" .c)
    cc $flags "$source" $(pkg-config --libs mq) -o "$made/$name-shared"
    cc $flags "$source" $static -o "$made/$name-static"
    for linked in shared static; do
        echo "== $name-$linked"
        "$made/$name-$linked"
    done
done
# Loaded and unloaded; memory that the library keeps for later engines is lost then, so leaks are not checked.
cc ${flags/-pedantic/} crates/mq-ffi/tests/c/loaded/reload.c -ldl -lpthread -o "$made/reload"
echo "== reload"
valgrind --quiet --error-exitcode=1 "$made/reload"
"$made/reload" # under valgrind its threads take turns
# The measurement beside a list in the caller's own requests, once: it checks what each form matches.
cc -std=c99 -O2 -Wall -Wextra -Werror -I"$made/include" benches/abi/intrusive.c $static -o "$made/intrusive"
echo "== intrusive"
"$made/intrusive" 1 | tail -n 1
# And that of the longest single operations.
cc $flags -O2 benches/abi/pauses.c $static -o "$made/pauses"
echo "== pauses"
"$made/pauses" 1 | tail -n 1
# The callers' side of the interface, inline calls included, with the compiler's own checks.
for source in crates/mq-ffi/tests/c/*.c; do
    name=$(basename "$source" .c)
    cc $flags -O2 -fsanitize=address,undefined -fno-sanitize-recover=all "$source" $static \
        -o "$made/$name-sanitized"
    echo "== $name-sanitized"
    "$made/$name-sanitized"
done
# A program with rights that its user has not, as one that is set-gid, does not write where its user's environment says.
echo "== privileged"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    cc $flags crates/mq-ffi/tests/c/privileged/session.c $static -o "$made/privileged"
    mkdir -m 777 "$made/traces"
    chmod 755 "$made"
    traces() {
        setpriv --reuid 65534 --regid 65534 --clear-groups env MQ_TRACE="$made/traces" "$made/privileged"
        find "$made/traces" -name '*.mqt' | wc -l
    }
    [ "$(traces)" = 1 ] || { echo "ci/c.sh: a session without special rights has left no trace" >&2 && exit 1; }
    rm -rf "$made/traces"/*
    chgrp 1 "$made/privileged"
    chmod g+s "$made/privileged"
    [ "$(traces)" = 0 ] || { echo "ci/c.sh: a set-gid program has written where MQ_TRACE said" >&2 && exit 1; }
elif [ "${MQ_ALL_CHECKS:-0}" = 1 ]; then
    echo "ci/c.sh: a set-gid program was not tried: that takes root, and setpriv" >&2 && exit 1
else
    echo "a set-gid program was not tried: that takes root, and setpriv"
fi
