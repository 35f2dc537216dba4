#!/usr/bin/env bash
# Messages inside one node: MPI libraries, ours and the bare hardware, in turn on the same cores, two by default.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
. "$repository/integrations/ending.sh"
. "$repository/benches/installed.sh"

usage() {
    cat <<TEXT
usage: benches/node/compare.sh [OPTION...]

Runs every job (a mode of node.c; for rate, a number of senders) with each contestant in turn, repeats all of that
in each round, and prints a table of the medians over the rounds for each mode. Contestants are the MPI libraries,
the bare hardware (line.c) and whatever --library, --ours and --also name.

  --libraries NAME,...    openmpi, mpich (Debian's) and nemesis (those that are installed)
  --nemesis PREFIX        MPICH with ch3:nemesis, as built by integrations/mpich/build.sh
                          (\$MQ_INTEGRATIONS_DIR, or target/integrations of the repository, and mpich/stock)
  --library NAME=PREFIX   another MPI library: PREFIX/bin/mpicc and PREFIX/bin/mpirun, Open MPI or MPICH; can be
                          repeated
  --ours COMMAND          our command, in all modes; README.md says what it must print
  --ours-MODE COMMAND     our command in one mode: --ours-pingpong, --ours-bandwidth, --ours-rate, --ours-halo,
                          --ours-calls
  --also NAME=COMMAND     another contestant, in all modes; can be repeated
                          In a COMMAND, {n} is the number of processes, {mode} the mode, {args} the arguments
                          that node.c gets for it; {sizes}, {tiles}, {senders}, {calls}, {window}, {samples}
                          and {cores} are single arguments. It is split into words at blanks, with no other quoting.
  --only NAME,...         pingpong, bandwidth, rate, halo, calls (all)
  --sizes BYTES,...       for pingpong (0, and powers of two to 4194304; with --quick 0,8,128)
  --bandwidth-sizes B,... (16384 to 4194304, powers of two; with --quick 16384,262144)
  --by NAME,...           for bandwidth: window, pingpong, rewritten, exchange (the first three)
  --window N              for bandwidth and rate (64)
  --rate-sizes BYTES,...  (8)
  --senders N,...         (1,2,3; with --quick 1)
  --tiles N,...           (1,2,5,10,20,50,100,200,500,1000; with --quick 1,100)
  --algorithm NAME        for halo: nonblocking, sendrecv, persistent, best (nonblocking)
  --calls NAME,...        barrier, broadcast, sendrecv, itself, alltoall, recv, probe, iprobe, test (all)
  --calls-sizes B,...     (8,1024,65536; with --quick 8)
  --calls-ranks N         (2) more than cores take MPICH a time slice for each message, and longer than --timeout
  --cores A,B,...         (the first two that this script may use) each process has its own, in rank order; if there
                          are more processes, neighbouring ranks share one
  --samples N             per row in each round (21; with --quick 5)
  --block MICROS          approximate length of a sample (5000; with --quick 500)
  --rounds N              (5; with --quick 1)
  --quick                 for a first look, not for results
  --timeout SECONDS       per job; one that takes longer counts as failed (120)
  --format table|json     (table)
  --raw FILE              write every row of every round; tabulate.py FILE prints the tables again

examples:
  benches/node/compare.sh --quick
  benches/node/compare.sh --ours 'target/release/mq {mode} --format json' --only pingpong,bandwidth
  benches/node/compare.sh --only calls --calls-ranks 4 --libraries openmpi \
      --ours 'target/release/mq calls --processes {n} --calls {calls} --sizes {sizes} --format json'
  benches/node/compare.sh --libraries mpich --library mine=/opt/openmpi --ours 'target/release/mq {mode} --format json'
  benches/node/compare.sh --cores 4,5,6,7 --only halo --ours 'target/release/mq {mode} --cores {cores} --format json'
TEXT
}

die() {
    echo "compare.sh: $*" >&2
    exit 1
}

# whole NAME VALUE: dies unless VALUE is a whole number of at least 1.
whole() {
    if ! [[ $2 =~ ^[0-9]{1,9}$ ]] || [ "$2" -lt 1 ]; then
        die "$1: \`$2\` is not a whole number from 1"
    fi
}

# list NAME VALUE: dies unless VALUE is whole numbers separated by commas.
list() {
    [[ $2 =~ ^[0-9]+(,[0-9]+)*$ ]] || die "$1: \`$2\` is not a list of whole numbers"
}

# known NAME VALUES LIST: dies unless all of VALUES, separated by commas, are in LIST.
known() {
    local value
    [ -n "$2" ] || die "$1 is empty; expected some of: ${3//,/, }"
    for value in ${2//,/ }; do
        [[ ,$3, == *,"$value",* ]] || die "$1: \`$value\` is not one of: ${3//,/, }"
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
        --libraries | --nemesis | --library | --ours | --ours-pingpong | --ours-bandwidth | --ours-rate | --ours-halo | \
            --ours-calls | --also | --only | --sizes | --bandwidth-sizes | --by | --window | --rate-sizes | \
            --senders | --tiles | --calls | --calls-sizes | --calls-ranks | --algorithm | --cores | --samples | \
            --block | --rounds | --timeout | --format | --raw) ;;
        *) die "unknown argument \`$1\`; --help lists the arguments" ;;
        esac
        [ $# -ge 2 ] || die "$1 needs a value; --help shows examples"
        case "$1" in
        --also)
            [[ $2 =~ ^[A-Za-z0-9_.+-]+=.+ ]] || die "--also: \`$2\` is not NAME=COMMAND"
            also+=("$2")
            ;;
        --library)
            [[ $2 =~ ^[A-Za-z0-9_.+-]+=.+ ]] || die "--library: \`$2\` is not NAME=PREFIX"
            [[ ! ${2%%=*} =~ ^(bare|ours|openmpi|mpich|nemesis)$ ]] || die "--library: ${2%%=*} has this name already"
            [ -z "${prefixes[${2%%=*}]:-}" ] || die "--library: ${2%%=*} is given twice"
            prefixes[${2%%=*}]=$(realpath "${2#*=}") || die "--library: ${2#*=} does not exist"
            more+=("${2%%=*}")
            ;;
        --ours-*) [ -n "$2" ] && ours_in[${1#--ours-}]=$2 ;;
        *)
            option=${1#--}
            printf -v "${option//-/_}" %s "$2"
            ;;
        esac
        shift 2
    done
}

powers() { # FROM TO
    local size list=$1
    for ((size = $1 * 2; size <= $2; size *= 2)); do list+=,$size; done
    echo "$list"
}

settle() {
    if [ -n "$quick" ]; then
        : "${sizes:=0,8,128}" "${bandwidth_sizes:=16384,262144}" "${senders:=1}" "${tiles:=1,100}"
        : "${samples:=5}" "${block:=500}" "${rounds:=1}" "${calls_sizes:=8}"
    else
        : "${sizes:=0,$(powers 1 4194304)}" "${bandwidth_sizes:=$(powers 16384 4194304)}" "${senders:=1,2,3}"
        : "${tiles:=1,2,5,10,20,50,100,200,500,1000}" "${samples:=21}" "${block:=5000}" "${rounds:=5}"
        : "${calls_sizes:=8,1024,65536}"
    fi
    : "${nemesis:=${MQ_INTEGRATIONS_DIR:-$repository/target/integrations}/mpich/stock}"
    known --only "$only" pingpong,bandwidth,rate,halo,calls
    known --calls "$calls" barrier,broadcast,sendrecv,itself,alltoall,recv,probe,iprobe,test
    known --by "$by" window,pingpong,rewritten,exchange
    known --format "$format" table,json
    known --algorithm "$algorithm" nonblocking,sendrecv,persistent,best
    list --sizes "$sizes"
    list --bandwidth-sizes "$bandwidth_sizes"
    list --rate-sizes "$rate_sizes"
    list --senders "$senders"
    list --tiles "$tiles"
    list --calls-sizes "$calls_sizes"
    for option in samples block rounds window timeout calls_ranks; do
        whole "--${option//_/-}" "${!option}"
    done
    [ "$calls_ranks" -ge 2 ] || die "--calls-ranks: two or more are needed, not $calls_ranks"
    choose_cores
}

choose_cores() {
    local allowed core
    allowed=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
    if [ -z "$cores" ]; then
        # Split into words on purpose.
        # shellcheck disable=SC2086
        set -- $allowed
        [ $# -ge 2 ] || die "two cores are needed, but this script may use $#"
        cores=$1,$2
    fi
    if ! [[ $cores =~ ^[0-9]{1,4}(,[0-9]{1,4})+$ ]] || [ -n "$(tr , '\n' <<<"$cores" | sort | uniq -d)" ]; then
        die "--cores: \`$cores\` is not A,B,...: two cores or more, each once"
    fi
    for core in ${cores//,/ }; do
        [[ " $allowed " == *" $core "* ]] || die "--cores: $core cannot be used; available: $allowed"
    done
}

# The tools of a library: mpicc and mpirun.
tools() {
    local prefix=${prefixes[$1]:-}
    if [ -n "$prefix" ]; then
        echo "$prefix/bin/mpicc $prefix/bin/mpirun"
    else
        echo "mpicc.$1 mpirun.$1"
    fi
}

# Sets `libraries` to the installed ones, or dies if a requested one is missing, and `kinds` to what each is.
find_libraries() {
    local name found='' asked=$libraries mpicc mpirun
    prefixes[nemesis]=$nemesis
    kinds=([openmpi]=openmpi [mpich]=mpich [nemesis]=mpich)
    for name in "${more[@]}"; do
        kinds[$name]=$(kind "--library $name" "${prefixes[$name]}")
    done
    for name in $(echo "${asked:-openmpi,mpich,nemesis}" | tr , ' '); do
        known --libraries "$name" openmpi,mpich,nemesis
        read -r mpicc mpirun < <(tools "$name")
        if command -v "$mpicc" >/dev/null && command -v "$mpirun" >/dev/null; then
            found+=${found:+,}$name
        elif [ -n "$asked" ]; then
            die "$name: $mpicc or $mpirun does not exist$(hint "$name")"
        else
            echo "compare.sh: without $name: $mpicc or $mpirun does not exist$(hint "$name")" >&2
        fi
    done
    libraries=$found
    for name in "${more[@]}"; do libraries+=${libraries:+,}$name; done
    [ -n "$libraries" ] || [ -n "$ours" ] || [ ${#ours_in[@]} -gt 0 ] || [ ${#also[@]} -gt 0 ] ||
        die "there is no library to measure"
    [ -n "$ours" ] || [ ${#ours_in[@]} -gt 0 ] || echo "compare.sh: without ours: no --ours names a command" >&2
}

hint() {
    case "$1" in
    openmpi) echo "; apt-get install openmpi-bin libopenmpi-dev" ;;
    mpich) echo "; apt-get install mpich libmpich-dev" ;;
    nemesis) echo "; integrations/mpich/build.sh builds it, --nemesis says where it is" ;;
    esac
}

# environment NAME COMMAND...: runs a command, in a subshell, with the environment of a library. The caller's settings
# for mq or a library do not reach it; a COMMAND of --ours may begin with `env MQ_...`.
environment() {
    local name=$1
    shift
    unset "${!MQ_@}" "${!OMPI_MCA_@}" "${!MPIR_CVAR_@}" "${!UCX_@}" "${!FI_@}"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    if [ -n "${prefixes[$name]:-}" ]; then
        with_prefix "${prefixes[$name]}" "$@"
    else
        "$@"
    fi
}

build() {
    local name mpicc mpirun flags=(-std=c99 -O2 -Wall -Wextra -Werror)
    "${CC:-cc}" "${flags[@]}" "$here/line.c" -o "$work/line" || die "line.c does not compile"
    for name in ${libraries//,/ }; do
        read -r mpicc mpirun < <(tools "$name")
        (environment "$name" "$mpicc" "${flags[@]}" "$here"/{node,modes,calls,sampling}.c -o "$work/node-$name") ||
            die "$name: $mpicc does not compile the program of node.c"
    done
}

# Prints the number of cores.
count_cores() {
    local each
    IFS=, read -ra each <<<"$cores"
    echo ${#each[@]}
}

# dealt RANKS: prints the core of each rank, separated by commas, as `mq` deals them.
dealt() {
    local each rank core list=''
    IFS=, read -ra each <<<"$cores"
    for ((rank = 0; rank < $1; rank++)); do
        core=$(($1 <= ${#each[@]} ? rank : rank * ${#each[@]} / $1))
        list+=,${each[core]}
    done
    echo "${list#,}"
}

# launch NAME RANKS: prints how a library starts RANKS processes on the cores, one word per line, each bound as ours are.
# If there are more than cores, Open MPI and MPICH are told to yield the core while they wait.
launch() {
    local mpicc mpirun crowded=0
    [ "$2" -le "$(count_cores)" ] || crowded=1
    read -r mpicc mpirun < <(tools "$1")
    printf '%s\n' taskset -c "$cores"
    case "${kinds[$1]}" in
    openmpi)
        printf '%s\n' "$mpirun" -n "$2" --bind-to none --mca mpi_yield_when_idle $crowded
        # It may detect fewer cores than there are.
        [ "$2" -le 2 ] || echo --oversubscribe
        # Its own options use their own core numbering.
        printf '%s\n' sh -c \
            "exec taskset -c \$(echo $(dealt "$2") | cut -d , -f \$((OMPI_COMM_WORLD_RANK + 1))) \"\$@\"" sh
        ;;
    *)
        [ $crowded -eq 0 ] || printf '%s\n' env MPIR_CVAR_POLLS_BEFORE_YIELD=1
        printf '%s\n' "$mpirun" -n "$2" -bind-to "user:$(dealt "$2")"
        ;;
    esac
}

# filled TEMPLATE MODE RANKS ARGS SENDERS: prints a command of ours.
filled() {
    local text=$1
    text=${text//'{args}'/$4}
    text=${text//'{mode}'/$2}
    text=${text//'{n}'/$3}
    text=${text//'{samples}'/$samples}
    text=${text//'{window}'/$window}
    text=${text//'{cores}'/$cores}
    text=${text//'{tiles}'/$tiles}
    text=${text//'{senders}'/$5}
    text=${text//'{calls}'/$calls}
    case "$2" in
    pingpong) text=${text//'{sizes}'/$sizes} ;;
    bandwidth) text=${text//'{sizes}'/$bandwidth_sizes} ;;
    calls) text=${text//'{sizes}'/$calls_sizes} ;;
    *) text=${text//'{sizes}'/$rate_sizes} ;;
    esac
    echo "$text"
}

# Prints each job as: mode, ranks, senders (- where there are none), arguments.
jobs_of_a_round() {
    local mode count common="--samples $samples --block $block --json"
    for mode in ${only//,/ }; do
        case "$mode" in
        pingpong) echo "pingpong 2 - --sizes $sizes $common" ;;
        bandwidth) echo "bandwidth 2 - --sizes $bandwidth_sizes --by $by --window $window $common" ;;
        rate)
            for count in ${senders//,/ }; do
                echo "rate $((count + 1)) $count --sizes $rate_sizes --senders $count --window $window $common"
            done
            ;;
        halo) echo "halo 4 - --tiles $tiles --algorithm $algorithm $common" ;;
        calls) echo "calls $calls_ranks - --calls $calls --sizes $calls_sizes $common" ;;
        esac
    done
}

# run LABEL JOB COMMAND...: appends what a contestant prints to the results.
run() {
    local label=$1 job=$2 rc=0
    shift 2
    (environment "${label%-testall}" alone "$timeout" "$@") >"$work/out" 2>"$work/err" &
    status_of $! || rc=$?
    if [ "$rc" -ne 0 ] || ! grep -q '^{' "$work/out"; then
        tail -n 30 "$work/out" "$work/err" >&2
        [ "$rc" -ne 124 ] || rc="124: it took longer than --timeout $timeout"
        die "$label: \`$job\` failed with status $rc, or printed no row: $*"
    fi
    echo "{\"run\":{\"round\":$round,\"label\":\"$label\",\"kind\":\"$kind\",\"cores\":[$cores]}}" >>"$results"
    grep '^{' "$work/out" >>"$results"
}

# contest LABEL MODE RANKS SENDERS ARGS: one contestant does one job.
contest() {
    local label=$1 mode=$2 ranks=$3 senders=$4 args=$5 words=() template='' pair yields=''
    # The bare hardware is measured quickly.
    local bare_samples=$((samples < 51 ? 51 : samples)) first_two
    kind=ours
    case "$label" in
    bare)
        kind=bare
        first_two=$(cut -d , -f 1,2 <<<"$cores")
        case "$mode" in
        pingpong) run bare line "$work/line" --only line --cores "$first_two" --samples "$bare_samples" --json ;;
        bandwidth) run bare memcpy "$work/line" --only memcpy --window "$window" --cores "$first_two" --samples "$bare_samples" --json ;;
        esac
        return
        ;;
    ours) template=${ours_in[$mode]:-$ours} ;;
    *)
        for pair in "${also[@]}"; do
            [ "${pair%%=*}" != "$label" ] || template=${pair#*=}
        done
        ;;
    esac
    if [ -n "${kinds[$label]:-}" ]; then
        kind=library
        mapfile -t words < <(launch "$label" "$ranks")
        # Not every build of MPICH can yield; --yield does it outside the library. Open MPI can, and is run both ways.
        # Calls have no --yield: they are the library's own.
        if [ "$ranks" -gt "$(count_cores)" ] && [ "$mode" != calls ]; then
            yields=yes
            [ "${kinds[$label]}" = openmpi ] || args+=" --yield"
        fi
        # Arguments are split into words on purpose.
        # shellcheck disable=SC2086
        run "$label" "$mode" "${words[@]}" "$work/node-$label" "$mode" $args
        # shellcheck disable=SC2086
        [ -z "$yields" ] || [ "${kinds[$label]}" != openmpi ] ||
            run "$label-testall" "$mode" "${words[@]}" "$work/node-$label" "$mode" $args --yield
        return
    fi
    [ -n "$template" ] || return 0
    read -ra words <<<"$(filled "$template" "$mode" "$ranks" "$args" "$senders")"
    run "$label" "$mode" taskset -c "$cores" "${words[@]}"
}

measure() {
    local round mode ranks count args label said running contestants=(bare) turn
    for label in ${libraries//,/ }; do contestants+=("$label"); done
    [ -z "$ours" ] && [ ${#ours_in[@]} -eq 0 ] || contestants+=(ours)
    for label in "${also[@]}"; do contestants+=("${label%%=*}"); done
    for ((round = 1; round <= rounds; round++)); do
        while read -r mode ranks count args; do
            [ "$count" = - ] && said=$mode || said="$mode, senders: $count"
            echo "round $round of $rounds: $said" >&2
            # This script is one of the running processes.
            read -r _ _ _ running _ </proc/loadavg
            if [ "${running%/*}" -gt 1 ]; then
                echo "compare.sh: warning: other processes run on this machine now" >&2
                echo "{\"warning\":{\"round\":$round,\"mode\":\"$mode\",\"text\":\"other processes ran as well\"}}" \
                    >>"$results"
            fi
            # Each round begins with a different one.
            for ((turn = 0; turn < ${#contestants[@]}; turn++)); do
                contest "${contestants[(turn + round - 1) % ${#contestants[@]}]}" "$mode" "$ranks" "$count" "$args"
            done
        done < <(jobs_of_a_round)
    done
}

libraries='' nemesis='' ours='' only=pingpong,bandwidth,rate,halo,calls sizes=''
bandwidth_sizes='' by=window,pingpong,rewritten
window=64 rate_sizes=8 senders='' tiles='' algorithm=nonblocking cores='' samples='' block='' rounds='' quick=''
calls=barrier,broadcast,sendrecv,itself,alltoall,recv,probe,iprobe,test calls_sizes='' calls_ranks=2
timeout=120 format=table raw='' also=() more=() kind='' whole=''
# By name: our commands by mode; of libraries, where they are installed (not Debian's), and openmpi or mpich.
declare -A ours_in=() prefixes=() kinds=()
parse "$@"
settle
for need in python3 timeout taskset setsid; do
    command -v "$need" >/dev/null || die "$need is not installed"
done
[ -z "$raw" ] || : 2>/dev/null >>"$raw" || die "--raw: $raw cannot be written"
find_libraries
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
build
measure
[ -z "$raw" ] || cp "$results" "$raw"
python3 "$here/tabulate.py" "$results" --format "$format"
whole=yes
