#!/usr/bin/env bash
# docs/measured/node-amd.md, -intel.md: every table about messages between the processes of one machine, in one Markdown document.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: benches/node/report.sh [--nemesis PREFIX] [--rounds N] [--quick] [TABLE...]

Prints the measurements of mq-shm and mq-comm as one Markdown document: the machine, the compiler, the commit and the
date, then these tables, or the named ones: some five minutes on two idle cores, plus the build. The time of each table
goes to standard error.

    head          machine, compiler, commit, date
    lines         short messages compared with one cache line, whose time varies
    libraries     latency, bandwidth, rate, halo exchange, other calls: `mq`, MPI libraries and the bare hardware in
                  turn; and the goals
    large         large messages by each path, memcpy, and only the kernel's copy
    switches      what each path gains, with the figures of the Nemesis paper
    policies      short messages with each of the four buffer policies
    limit         eager messages against rendezvous
    instructions  instructions per message of 8 bytes

  --nemesis PREFIX  MPICH with ch3:nemesis, as built by integrations/mpich/build.sh (default as in compare.sh)
  --rounds N        rounds of each comparison (5)
  --quick           for a first look, not for results: one round of short samples

Needs what benches/node/compare.sh needs (the MPI libraries that are installed; a C compiler; python3) and, for
instructions, valgrind. Builds `mq` in release mode; respects CARGO_TARGET_DIR. Exit codes: 0 printed, 1 something could
not be measured, 2 bad usage. Tables printed one by one make the same document as all together.

    benches/node/report.sh >docs/measured/node-amd.md    # or -intel.md, by the processor
    benches/node/report.sh --rounds 9 libraries
TEXT
}

refuse() {
    echo "benches/node/report.sh: $*" >&2
    usage >&2
    exit 2
}

tables="head lines libraries large switches policies limit instructions"
rounds=5
quick=
nemesis=()
while [ $# -gt 0 ]; do
    case "$1" in
    -h | --help)
        usage
        exit 0
        ;;
    --nemesis | --rounds)
        [ $# -ge 2 ] && [ -n "$2" ] || refuse "$1 needs a value"
        case "$1" in
        --nemesis) nemesis=(--nemesis "$(realpath "$2")") ;;
        --rounds) rounds=$2 ;;
        esac
        shift 2
        ;;
    --quick)
        quick=yes
        shift
        ;;
    -*) refuse "no option \`$1\`" ;;
    *) break ;;
    esac
done
[[ $rounds =~ ^[1-9][0-9]*$ ]] || refuse "--rounds $rounds: not a number of rounds"
if [ $# -eq 0 ]; then
    # shellcheck disable=SC2086 # words
    set -- $tables
fi
for table; do
    [[ " $tables " == *" $table "* ]] || refuse "no table \`$table\`"
done

cd "$(dirname "$0")/../.."
echo "building" >&2
cargo build --quiet --release --package mq-cli
mq="${CARGO_TARGET_DIR:-target}/release/mq"
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
# The length and number of samples of switches.py.
pace=(--rounds "$rounds" --samples 9 --block 1000)
if [ -n "$quick" ]; then
    pace=(--rounds 1 --samples 3 --block 200)
fi

# section TITLE: a heading, with the command that prints what follows it.
section() {
    printf '\n## %s\n\n```sh\nbenches/node/report.sh %s\n```\n\n' "$1" "$table"
}

libraries() {
    section "Beside MPI libraries"
    local measured=(--rounds "$rounds" --samples 9 --block 2000 --tiles 1,10,100,1000 --senders 1
        --sizes 0,8,128,512,1024,2048,4096,8192,16384,65536)
    if [ -n "$quick" ]; then
        measured=(--quick)
    fi
    benches/node/compare.sh "${nemesis[@]}" "${measured[@]}" --raw "$rows" \
        --ours "$mq {mode} --format json --samples {samples}" \
        --ours-pingpong "$mq {mode} --format json --samples {samples} --sizes {sizes}" \
        --ours-halo "$mq {mode} --format json --samples {samples} --tiles {tiles}" \
        --ours-calls "$mq {mode} --format json --samples {samples} --processes {n} --calls {calls} --sizes {sizes}"
    printf '\nWhat was aimed at:\n\n'
    benches/node/tabulate.py "$rows" --format json | benches/node/goals.py
}

for table; do
    began=$(date +%s)
    case "$table" in
    head)
        benches/head.sh "Between processes, measured" "benches/node/report.sh${quick:+ --quick}"
        benches/node/words.sh
        ;;
    lines)
        section "Short messages, and one cache line"
        benches/node/lines.py --mq "$mq" --rounds "$([ -n "$quick" ] && echo 3 || echo 60)"
        ;;
    libraries) libraries ;;
    large)
        section "Large messages, memcpy and the kernel"
        benches/node/switches.py --mq "$mq" --only large "${pace[@]}"
        ;;
    switches)
        section "What each way of sending gains"
        benches/node/switches.py --mq "$mq" --only switches "${pace[@]}"
        ;;
    policies)
        section "Buffer policies"
        benches/node/switches.py --mq "$mq" --only policies "${pace[@]}"
        ;;
    limit)
        section "Eager or announced"
        benches/node/switches.py --mq "$mq" --only limit "${pace[@]}"
        ;;
    instructions)
        section "Instructions"
        ci/comm-instructions.sh
        ;;
    esac
    echo "$table: $(($(date +%s) - began)) s" >&2
done
