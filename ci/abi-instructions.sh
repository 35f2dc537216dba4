#!/bin/sh
# Instructions per pair of post and arrive through the C interface and the Rust one, as a Markdown table.
set -eu

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
  halves   mq_inline.h in the two steps of an MPI library: search, then queue
  turns    the same with the pairs alternating between two communicators, the queued entries on the first
  list     without libmq: a list in the caller's own requests, drained in reverse

--check fails if a count that needs no hash (up to 47 entries, drains of 17, the receive that stays) has changed by more
than 3 % against benches/abi/instructions.baseline, or 10 % with another C compiler; --write rewrites that file, with
the reason.

Counted as by ci/instructions.sh; with 64 entries and more, the least of three runs, since the hash secret differs from
run to run. Needs valgrind and a C compiler; respects CARGO_TARGET_DIR.
TEXT
}

action=table reason=
case "${1:-}" in
-h | --help)
    usage
    exit 0
    ;;
--check)
    action=check
    shift
    ;;
--write)
    [ -n "${2:-}" ] || {
        usage >&2
        exit 2
    }
    action=write reason=$2
    shift 2
    ;;
esac
case "${1:-}" in
-*)
    usage >&2
    exit 2
    ;;
esac
structure=${1:-indexed}
[ $action = table ] || [ "$structure" = indexed ] || {
    echo "ci/abi-instructions.sh: the baseline is for indexed" >&2
    exit 2
}
for need in valgrind cc; do
    command -v "$need" >/dev/null || {
        echo "ci/abi-instructions.sh: $need is not installed" >&2
        exit 1
    }
done

cd "$(dirname "$0")/.."
baseline=benches/abi/instructions.baseline
if [ $action = check ]; then
    . ci/baseline-compiler.sh
    use_compiler_of $baseline
fi
target=${CARGO_TARGET_DIR:-$PWD/target}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cargo build --quiet --release --package mq-benches --example instructions
make --silent -C crates/mq-ffi install PREFIX="$made" TARGET="$target"
cc -std=c99 -O2 -Wall -Wextra -Werror -I"$made/include" benches/abi/instructions.c -L"$made/lib" -lmq \
    -o "$made/instructions"
export LD_LIBRARY_PATH="$made/lib" LD_BIND_NOW=1

# instructions COMMAND...: prints the number of instructions of one whole run.
instructions() {
    report=$(valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$@" 2>&1) || {
        echo "$report" >&2
        return 1
    }
    count=$(echo "$report" | sed -n 's/^.*I *refs: *//p' | tr -d ,)
    [ -n "$count" ] || {
        echo "ci/abi-instructions.sh: valgrind printed no line \`I refs\`: $report" >&2
        return 1
    }
    echo "$count"
}

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
    echo $(((more - fewer + pairs / 2) / pairs))
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
rust=$(rustc --version | cut -d" " -f1,2)
c=$(cc --version | head -n 1)
if [ $action = write ]; then
    {
        echo "# Instructions per pair; ci/abi-instructions.sh --check compares with them. Do not edit: --write."
        echo "# compilers: $rust; $c"
        echo "# reason: $reason"
        held
    } >$baseline
    echo "wrote $baseline"
    exit
fi
known=$(sed -n 's/^# compilers: //p' $baseline)
bound=3
if [ "$known" != "$rust; $c" ]; then
    bound=10
    echo "a change of up to $bound % passes instead of 3: the baseline is from $known, this is $rust; $c"
fi
held | awk -v baseline=$baseline -v bound=$bound '
    BEGIN {
        while ((getline line < baseline) > 0)
            if (line !~ /^#/) { split(line, f, " "); before[f[1] " " f[2] " " f[3]] = f[4]; wanted++ }
    }
    {
        was = before[$1 " " $2 " " $3]
        seen++
        change = was == "" ? 100 : 100 * ($4 - was) / was
        if (change > bound || change < -bound) {
            printf "%s, %d entries, %s: %s instructions, the baseline has %s\n", $1, $2, $3, $4, was == "" ? "none" : was
            failed++
        }
    }
    END {
        if (seen != wanted) {
            printf "%d counts, but the baseline has %d\n", seen, wanted
            missing = 1
        }
        printf "%d passed, %d failed\n", seen - failed, failed + missing
        if (failed) {
            print "A count changed by more than " bound " %. If that is right, rewrite the baseline in the same commit:"
            print "    ci/abi-instructions.sh --write REASON"
        }
        exit failed > 0 || missing || seen == 0
    }'
