#!/usr/bin/env bash
# Compares an MPI library as shipped with the same library using mq's matching, by the benchmark of this folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
. "$repository/integrations/ending.sh"
. "$repository/benches/installed.sh"
# Used only to list the structures.
mq=${CARGO_TARGET_DIR:-$repository/target}/release/mq

usage() {
    cat <<TEXT
usage: benches/mpi/compare.sh --stock PREFIX --ours PREFIX [OPTION...]

PREFIX is where an MPI library is installed: PREFIX/bin/mpicc and PREFIX/bin/mpirun, Open MPI or MPICH, the
same one on both sides. The benchmark is compiled with each. For each job (a measurement, in one order), stock,
ours with the first structure, ours with the next and so on take turns, so that noise affects all alike, and
all of that is repeated in each round, beginning with another of them. Prints tables of the medians over the rounds.

  --structures NAME,...   structures of ours, values of MQ_STRUCTURE (list,indexed), or all, as listed by mq:
                          cargo build --release -p mq-cli
  --only NAME,...         pingpong, rate, posted, unexpected (all)
  --orders NAME,...       forward, reverse, by-source, by-tag, any-source (all)
  --depths N,...          (0,1,4,16,64,256,1024,4096,16384; with --quick 0,64,1024)
  --sizes BYTES,...       for the ping-pong (0,8,128,1024,8192,65536; with --quick 0,8,1024)
  --depth N               receives queued ahead in the ping-pong (0)
  --repetitions N         samples per row in each round (51; with --quick 11)
  --budget SECONDS        timed part of the drains per row in each round (0.5; with --quick 0.1)
  --rounds N              (5; with --quick 2)
  --ranks N               more than two are for the order by-source (2)
  --quick                 a first look in a minute or so, not for results
  --timeout SECONDS       per job; one that takes longer counts as failed (600)
  --mpirun-flags "..."    further flags for both sides' mpirun
  --json FILE             write all samples; tabulate.py FILE prints the tables again
  --plot DIR              write one PNG per measurement; needs matplotlib

examples:
  benches/mpi/compare.sh --stock /opt/mpich --ours /opt/mpich-mq --quick
  benches/mpi/compare.sh --stock /opt/openmpi --ours /opt/openmpi-mq --structures all --json openmpi.json
TEXT
}

die() {
    echo "compare.sh: $*" >&2
    exit 1
}

# whole NAME VALUE LEAST: dies unless VALUE is a whole number of at least LEAST.
whole() {
    if ! [[ $2 =~ ^[0-9]{1,9}$ ]] || [ "$2" -lt "$3" ]; then
        die "$1: \`$2\` is not a whole number from $3"
    fi
}

# known NAME VALUES LIST: dies unless all of VALUES, separated by commas, are in LIST.
known() {
    local value name
    [ -n "$2" ] || die "$1 is empty; expected some of: ${3//,/, }"
    for value in ${2//,/ }; do
        # A structure may have parameters, as in bins:bins=64.
        [ "$1" = --structures ] && name=${value%%:*} || name=$value
        [[ ,$3, == *,"$name",* ]] || die "$1: \`$value\` is not one of: ${3//,/, }"
    done
}

parse() {
    while [ $# -gt 0 ]; do
        case "$1" in
        -h | --help)
            usage
            exit 0
            ;;
        --quick)
            quick=yes
            shift
            continue
            ;;
        --stock | --ours | --structures | --only | --orders | --depths | --sizes | --depth | --repetitions | \
            --budget | --rounds | --ranks | --timeout | --mpirun-flags | --json | --plot) ;;
        *) die "unknown argument \`$1\`; --help lists the arguments" ;;
        esac
        [ $# -ge 2 ] || die "$1 needs a value; --help shows examples"
        option=${1#--}
        printf -v "${option//-/_}" %s "$2"
        shift 2
    done
}

# Names of structures, separated by commas; nothing if mq is not built.
every_structure() {
    [ ! -x "$mq" ] || "$mq" structures --format json | sed -n 's/.*"name": *"\([^"]*\)".*/\1/p' | paste -sd,
}

settle() {
    local every
    [ -n "$stock" ] || die "--stock is missing; --help shows examples"
    [ -n "$ours" ] || die "--ours is missing; --help shows examples"
    if [ -n "$quick" ]; then
        : "${depths:=0,64,1024}" "${sizes:=0,8,1024}" "${repetitions:=11}" "${budget:=0.1}" "${rounds:=2}"
    else
        : "${depths:=0,1,4,16,64,256,1024,4096,16384}" "${sizes:=0,8,128,1024,8192,65536}"
        : "${repetitions:=51}" "${budget:=0.5}" "${rounds:=5}"
    fi
    every=$(every_structure) || die "$mq does not list the structures"
    if [ "$structures" = all ]; then
        [ -n "$every" ] || die "--structures all: needs $mq to list them; cargo build --release -p mq-cli"
        structures=$every
    fi
    # If mq is not built, the library reports an unknown structure in the first round.
    [ -z "$every" ] || known --structures "$structures" "$every"
    known --only "$only" pingpong,rate,posted,unexpected
    known --orders "$orders" forward,reverse,by-source,by-tag,any-source
    whole --rounds "$rounds" 1
    whole --ranks "$ranks" 2
    whole --timeout "$timeout" 1
}

# Before hours of measuring, not after them.
check_tools() {
    local need
    for need in python3 timeout ldd setsid; do
        command -v "$need" >/dev/null || die "$need is not installed"
    done
    [ -z "$plot" ] || python3 -c 'import matplotlib' 2>/dev/null ||
        die "--plot needs matplotlib: python3 -m pip install matplotlib (or leave --plot out, and give the" \
            "file of --json to tabulate.py where it is installed)"
    [ -z "$json" ] || : 2>/dev/null >>"$json" || die "--json: $json cannot be written"
    [ -z "$plot" ] || mkdir -p "$plot" || die "--plot: $plot cannot be created"
}

# build SIDE PREFIX: compiles $work/matching-SIDE and prints which library it loads.
build() {
    (with_prefix "$2" "$2/bin/mpicc" -std=c99 -O2 -Wall -Wextra -Werror \
        "$here/matching.c" "$here/queues.c" "$here/traffic.c" -o "$work/matching-$1") ||
        die "--$1: $2/bin/mpicc does not compile the benchmark"
    with_prefix "$2" ldd "$work/matching-$1" | sed -n 's/^[[:space:]]*\(libmpi[^ ]* => [^ ]*\).*/\1/p' \
        >"$work/loads-$1"
    sed "s/^/$1: /" "$work/loads-$1" >&2
}

# How ranks are bound: one to a core if there are enough.
binding() {
    local cores
    cores=$(lscpu -p=CORE,SOCKET 2>/dev/null | grep -v '^#' | sort -u | wc -l) || cores=0
    [ "$cores" -gt 0 ] && [ "$cores" -le "$(nproc)" ] || cores=$(nproc)
    case "$library:$((ranks <= cores))" in
    openmpi:1) echo --bind-to core ;;
    openmpi:0) echo --oversubscribe --bind-to none ;;
    mpich:1) echo -bind-to core ;;
    mpich:0) echo -bind-to none ;;
    esac
}

# Prints the arguments of each job, one a line.
jobs_of_a_round() {
    local measurement order
    for measurement in ${only//,/ }; do
        case "$measurement" in
        posted | unexpected)
            for order in ${orders//,/ }; do
                echo "--only $measurement --orders $order --depths $depths --budget $budget"
            done
            ;;
        pingpong) echo "--only pingpong --sizes $sizes --depth $depth" ;;
        rate) echo "--only rate" ;;
        esac
    done
}

# run SIDE PREFIX STRUCTURE JOB: appends what the job prints to the results. STRUCTURE is empty for stock.
run() {
    local selected=() rc=0
    if [ -n "$3" ]; then
        selected=(env "MQ_STRUCTURE=$3")
    fi
    # Flags and jobs are split into words on purpose.
    # shellcheck disable=SC2086
    (with_prefix "$2" alone "$timeout" "${selected[@]}" "$2/bin/mpirun" -n "$ranks" $bind \
        $mpirun_flags "$work/matching-$1" $4 --repetitions "$repetitions" --json) \
        >"$work/out" 2>"$work/err" &
    status_of $! || rc=$?
    ! grep 'MQ_STRUCTURE=.* is ignored' "$work/err" >&2 || die "--structures: ours does not know $3"
    if [ "$rc" -ne 0 ] || ! grep -q samples_ns "$work/out"; then
        tail -n 30 "$work/out" "$work/err" >&2
        [ "$rc" -ne 124 ] || rc="124: it took longer than --timeout $timeout"
        die "$1${3:+ ($3)}: \`$4\` failed with status $rc"
    fi
    echo "{\"run\":{\"round\":$round,\"label\":\"${3:-stock}\"}}" >>"$results"
    grep '^{' "$work/out" >>"$results"
}

measure() {
    local round job turn structure
    # Stock has no name. Each round begins with a different one.
    local contestants=('')
    for structure in ${structures//,/ }; do contestants+=("$structure"); done
    bind=$(binding)
    for ((round = 1; round <= rounds; round++)); do
        while read -r job; do
            echo "round $round of $rounds: $job" >&2
            for turn in "${!contestants[@]}"; do
                structure=${contestants[(turn + round - 1) % ${#contestants[@]}]}
                if [ -z "$structure" ]; then
                    run stock "$stock" "" "$job"
                else
                    run ours "$ours" "$structure" "$job"
                fi
            done
        done < <(jobs_of_a_round)
    done
}

stock='' ours='' structures=list,indexed only=pingpong,rate,posted,unexpected
orders=forward,reverse,by-source,by-tag,any-source depths='' sizes='' depth=0 repetitions='' budget='' rounds=''
ranks=2 quick='' timeout=600 mpirun_flags='' json='' plot='' whole=''
parse "$@"
settle
check_tools
stock=$(realpath -ms "$stock") ours=$(realpath -ms "$ours")
library=$(kind --stock "$stock")
other=$(kind --ours "$ours")
[ "$library" = "$other" ] || die "--stock is $library and --ours is $other; compare the same library"
work=$(mktemp -d)
results=$work/results.jsonl
# Results survive a failure or a signal.
finish() {
    if [ -z "$whole" ] && [ -s "$results" ]; then
        echo "compare.sh: results so far: $results" >&2
    else
        rm -rf "$work"
    fi
}
trap finish EXIT
end_jobs_on_signals
build stock "$stock"
build ours "$ours"
! cmp -s "$work/loads-stock" "$work/loads-ours" || [ ! -s "$work/loads-ours" ] ||
    echo "compare.sh: warning: both sides load the same library, so this compares it with itself" >&2
measure
python3 "$here/tabulate.py" "$results" ${json:+--json "$json"} ${plot:+--plot "$plot"}
whole=yes
