#!/usr/bin/env bash
# docs/measured/cores.md: measurements that need more than two cores, in one Markdown document.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: benches/cores.sh [--cores LIST] [--nemesis PREFIX] [--rounds N] [--quick] [TABLE...]

Prints what can be measured only if each thread or process has a core of its own, as one Markdown document: the
machine, the compiler, the commit and the date, then these tables, or the named ones: two minutes on sixteen idle
cores, plus the build. The time of each table goes to standard error.

    head       machine, compiler, commit, date, the cores in the order in which they are used
    threads    the shared engine against one engine behind a lock, 1 thread to as many as there are cores
    distances  messages of 0 to 128 bytes, MPI libraries and `mq`, by the distance between the two cores
    rate       messages a second, from one sender to as many as leave a core for the receiver
    halo       halo exchange of four processes

  --cores LIST      such as 0,2,4,6, at least four; otherwise all usable ones, one thread of each core before the rest
  --nemesis PREFIX  MPICH with ch3:nemesis, as built by integrations/mpich/build.sh (default as in compare.sh)
  --rounds N        rounds of each comparison (5)
  --quick           for a first look, not for results: one round of short samples

Needs what benches/node/compare.sh needs: the MPI libraries that are installed; a C compiler; python3. Builds `mq` in
release mode; respects CARGO_TARGET_DIR. Exit codes: 0 printed, 1 something could not be measured, 2 bad usage, or fewer
than four cores. Tables printed one by one make the same document as all together.

    benches/cores.sh >docs/measured/cores.md
    benches/cores.sh --cores 0,1,2,3 halo
TEXT
}

refuse() {
    echo "benches/cores.sh: $*" >&2
    usage >&2
    exit 2
}

tables="head threads distances rate halo"
rounds=5
quick=
cores=
nemesis=()
while [ $# -gt 0 ]; do
    case "$1" in
    -h | --help)
        usage
        exit 0
        ;;
    --cores | --nemesis | --rounds)
        [ $# -ge 2 ] && [ -n "$2" ] || refuse "$1 needs a value"
        case "$1" in
        --cores) cores=$2 ;;
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

# Prints what the system reports of a core; nothing if it does not report it.
topology() { # CORE FILE
    cat "/sys/devices/system/cpu/cpu$1/$2" 2>/dev/null || true
}

# All usable cores: the first thread of each core, then the second of each, and so on.
: "${cores:=$(python3 - <<'PY'
import os
seen = {}
order = []
for cpu in sorted(os.sched_getaffinity(0)):
    try:
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", encoding="ascii") as file:
            core = file.read().strip()
    except OSError:
        core = cpu
    seen[core] = seen.get(core, -1) + 1
    order.append((seen[core], cpu))
print(*(cpu for _, cpu in sorted(order)), sep=",")
PY
)}"
[[ $cores =~ ^[0-9]{1,4}(,[0-9]{1,4})*$ ]] || refuse "--cores: \`$cores\` is not a list as 0,2,4,6"
IFS=, read -ra each <<<"$cores"
[ ${#each[@]} -ge 4 ] || refuse "four cores are needed, and there are ${#each[@]}: $cores"
usable=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
for core in "${each[@]}"; do
    [[ " $usable " == *" $core "* ]] || refuse "--cores: $core cannot be used here; there are: $usable"
done
[ -z "$(printf '%s\n' "${each[@]}" | sort | uniq -d)" ] || refuse "--cores: $cores: list each core only once"

cd "$(dirname "$0")/.."
echo "building" >&2
cargo build --quiet --release --package mq-cli
cargo build --quiet --release --package mq-benches --example contention
built=${CARGO_TARGET_DIR:-target}/release
mq="$built/mq {mode} --cores {cores} --format json --samples {samples}"
pace=(--rounds "$rounds" --samples 9 --block 2000)
if [ -n "$quick" ]; then
    rounds=1
    pace=(--rounds 1 --samples 3 --block 200)
fi

# section TITLE: a heading, with the command that prints what follows it.
section() {
    printf '\n## %s\n\n```sh\nbenches/cores.sh %s\n```\n\n' "$1" "$table"
}

# doubling FROM TO: powers of two between, and TO, with commas.
doubling() {
    local number list=''
    for ((number = $1; number < $2; number *= 2)); do list+=$number,; done
    echo "$list$2"
}

head_of_report() {
    benches/head.sh "With a core for each, measured" "benches/cores.sh${quick:+ --quick}"
    echo "| cores, in the order of use | $cores |"
    echo "| threads of core ${each[0]} | $(topology "${each[0]}" topology/thread_siblings_list) |"
    echo "| share its largest cache | $(topology "${each[0]}" cache/index3/shared_cpu_list) |"
    echo "| its socket | $(topology "${each[0]}" topology/core_siblings_list) |"
    benches/node/words.sh
}

# The first core paired with another: a thread of its own core, the next in order, the last that is no such thread.
distances() {
    section "Short messages by distance"
    local first=${each[0]} other siblings pairs=() last=''
    siblings=$(python3 -c 'import sys
for part in filter(None, sys.argv[1].split(",")):
    first, _, last = part.partition("-")
    print(*range(int(first), int(last or first) + 1))' "$(topology "$first" topology/thread_siblings_list)" | tr '\n' ' ')
    for other in "${each[@]:1}"; do
        if [[ " $siblings " == *" $other "* ]]; then
            pairs+=("$other:threads of one core")
        else
            [ -n "$last" ] || pairs+=("$other:two cores")
            last=$other
        fi
    done
    [[ -z $last || ${pairs[*]} == *"$last:"* ]] || pairs+=("$last:two cores, the last of the list")
    for other in "${pairs[@]}"; do
        printf 'Cores %s and %s: %s.\n\n' "$first" "${other%%:*}" "${other#*:}"
        benches/node/compare.sh "${nemesis[@]}" "${pace[@]}" --cores "$first,${other%%:*}" --only pingpong \
            --sizes 0,8,128 --ours "$mq --sizes {sizes}"
        echo
    done
}

for table; do
    began=$(date +%s)
    case "$table" in
    head) head_of_report ;;
    threads)
        section "Threads"
        # One lock among sixteen threads takes microseconds per pair, so fewer pairs than on two cores. As many shards as
        # a machine with these cores would use.
        "$built/examples/contention" --format markdown --cores "$cores" --threads "$(doubling 1 ${#each[@]})" \
            --shards $((2 * ${#each[@]})) --rounds "$rounds" --pairs "$([ -n "$quick" ] && echo 1000 || echo 40000)"
        ;;
    distances) distances ;;
    rate)
        section "Messages from many senders"
        benches/node/compare.sh "${nemesis[@]}" "${pace[@]}" --cores "$cores" --only rate \
            --senders "$(doubling 1 $((${#each[@]} - 1)))" --ours "$mq --senders {senders}"
        ;;
    halo)
        section "Halo exchange"
        benches/node/compare.sh "${nemesis[@]}" "${pace[@]}" --cores "$cores" --only halo --ours "$mq --tiles {tiles}"
        ;;
    esac
    echo "$table: $(($(date +%s) - began)) s" >&2
done
