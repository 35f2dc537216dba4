#!/bin/sh
# Instructions per pair of post and arrive through the C interface and the Rust one, as a Markdown table.
set -eu
self=ci/abi-instructions.sh
. "$(dirname "$0")/counting.sh"

usage() {
    cat <<'TEXT'
usage: ci/abi-instructions.sh [--check | --write REASON] [STRUCTURE]

Counts the machine instructions of one post and one arrive of a matching pair with STRUCTURE (indexed if none is
named): with 0 to 64 entries in the queue that is searched; then in queues that are filled and drained out of order:
in reverse, at random, in reverse by receives from any source; and finally with one receive that stays posted, after
that many receives were once taken in reverse.

  Rust     the engine over only that structure, from Rust
  call     mq_post and mq_arrive of libmq.so
  inline   mq_inline_post and mq_inline_arrive of mq_inline.h
  halves   mq_try_extract and the like in the two steps of an MPI library: search, then queue
  turns    the same with the pairs alternating between two communicators, the queued entries on the first
  list     without libmq: a list in the caller's own requests, drained in reverse

--check fails if a count that needs no hash (up to 47 entries, drains of 17, the receive that stays) has changed by more
than 3 % against benches/abi/instructions.baseline, or 10 % with another C compiler; --write rewrites that file, with
the reason.

Counted as by ci/instructions.sh; with 64 entries and more, the least of three runs, since the hash secret differs from
run to run. Needs valgrind and a C compiler; respects CARGO_TARGET_DIR.
TEXT
}

parse_action "$@"
shift $used
case "${1:-}" in
-*) wrong_usage ;;
esac
structure=${1:-indexed}
[ $action = table ] || [ "$structure" = indexed ] || {
    complain "the baseline is for indexed"
    exit 2
}
need valgrind cc

cd "$(dirname "$0")/.."
baseline=benches/abi/instructions.baseline
[ $action != check ] || use_compiler_of $baseline
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# Not every shell runs the EXIT trap when a signal ends it.
trap 'exit 130' INT
trap 'exit 143' TERM
cargo build --quiet --release --package mq-benches --example instructions
make --silent -C crates/mq-ffi install PREFIX="$made" TARGET="$target"
cc -std=c99 -O2 -Wall -Wextra -Werror -I"$made/include" benches/abi/instructions.c -L"$made/lib" -lmq \
    -o "$made/instructions"
export LD_LIBRARY_PATH="$made/lib" LD_BIND_NOW=1

# least DEPTH COMMAND...: instructions; the least of three runs if entries are found by key, since now and then the
# hash secret of an engine makes two keys collide.
least() {
    depth=$1
    shift
    best=$(instructions "$@") || return 1
    for _ in $([ "$depth" -lt 64 ] || echo 2 3); do
        count=$(instructions "$@") || return 1
        [ "$count" -ge "$best" ] || best=$count
    done
    echo "$best"
}

# per_pair MODE DEPTH FORM: prints the instructions of one pair, rounded. In the modes that drain, whole drains; in
# standing, so many pairs that the drain before them, which the hash secret makes longer or shorter by tens of
# thousands of instructions, does not show in one pair.
per_pair() {
    case "$1" in
    *-*) pairs=$((1024 / ($2 + 1) * $2)) ;;
    standing) pairs=100000 ;;
    *) pairs=1000 ;;
    esac
    if [ "$3" = Rust ]; then
        program="$target/release/examples/instructions"
        fewer=$(instructions "$program" "$structure" "$2" "$1" $pairs) || return 1
        more=$(instructions "$program" "$structure" "$2" "$1" $((2 * pairs))) || return 1
    else
        fewer=$(least "$2" "$made/instructions" "$structure" "$2" "$1" $pairs "$3") || return 1
        more=$(least "$2" "$made/instructions" "$structure" "$2" "$1" $((2 * pairs)) "$3") || return 1
    fi
    each "$fewer" "$more" $pairs
}

# table MODES DEPTHS FORMS
table() {
    # Unquoted on purpose: separate words.
    # shellcheck disable=SC2086
    {
        printf '| %s | entries |' "$structure" && printf ' %s |' $3 && echo
        printf '| --- | ---: |' && printf ' ---: |%.0s' $3 && echo
    }
    for mode in $1; do
        for depth in $2; do
            row="| $mode | $depth |"
            for form in $3; do
                pair=$(per_pair "$mode" "$depth" "$form") || exit 1
                row="$row $pair |"
            done
            echo "$row"
        done
    done
}

if [ $action = table ]; then
    table "expected unexpected" "0 1 4 7 16 47 64" "Rust call inline halves turns list"
    echo
    table "posted-reverse posted-random posted-any waiting-reverse waiting-random waiting-any" "17 65 257" \
        "call inline halves list"
    echo
    table "standing" "65 257" "call inline halves list"
    exit
fi

# The counts that are checked: those that need no hash.
{
    table "expected unexpected" "0 1 4 7 16 47" "call inline halves turns" &&
        echo &&
        table "posted-reverse posted-random posted-any waiting-reverse waiting-random waiting-any" "17" \
            "call inline halves" &&
        echo &&
        table "standing" "65 257" "call inline halves"
} >"$made/tables" || exit 1
cat "$made/tables"
# Mode, entries, form, instructions.
held() {
    tr -d '|' <"$made/tables" | awk '
        $2 == "entries" { for (i = 3; i <= NF; i++) form[i] = $i; next }
        NF && $1 != "---" { for (i = 3; i <= NF; i++) print $1, $2, form[i], $i }'
}
compilers="$(compiler); $(cc --version | head -n 1)"
if [ $action = write ]; then
    held | write_counts $baseline "compilers: $compilers"
    exit
fi
known=$(sed -n 's/^# compilers: //p' $baseline)
bound=3
if [ "$known" != "$compilers" ]; then
    bound=10
    echo "a change of up to $bound % passes instead of 3: the baseline is from $known, this is $compilers"
fi
held | check_counts $baseline $bound
