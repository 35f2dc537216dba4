#!/usr/bin/env bash
# Tests the MPICH builds of integrations/mpich/build.sh: stock and ours run the same programs and must end the
# same way; then what only ours can do. Ends with a total, and with status 1 if anything differs.
#
# usage: integrations/mpich/test.sh [--ch4] [--quick] [--resume] [PART...]
#   parts: programs suite mpi4py structures switches; all if none is named
#   single folders of suite: pt2pt coll comm topo datatype errors threads
#   ft: the folder for fault tolerance, only if named: two of its tests have varying results, on stock too (not with
#     ch4, which has none)
#   --ch4     the builds of build.sh --ch4
#   --quick   programs, structures, switches and the suite's folder topo: about 5 minutes on two cores
#   --resume  reuse the results of folders that were already run with the same number of ranks
#
# suite: those folders of MPICH's own test/mpi, with at most $MQ_MAX_RANKS ranks per test (4; the folders' own numbers
# go to 10 and more, which takes hours on two cores). A test that exceeds its own limit, or $MPITEST_TIMEOUT seconds
# (180), has failed.
# mpi4py 4.1.2 comes from PyPI; its test of symbol coverage fails on both, because both are built without
# Fortran.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../common.sh"
usual=(pt2pt coll comm topo datatype errors threads)
all_folders=("${usual[@]}" ft)
parse "ch4 quick resume" "programs suite mpi4py structures switches ${all_folders[*]}" "$@"
[ $quick = no ] || usual=(topo)
device=ch3:nemesis again_with=build.sh
if [ "$ch4" = yes ]; then
    device=ch4:ofi work=$work-ch4 again_with="build.sh --ch4"
fi
folders=() others=()
for part in "${parts[@]}"; do
    case " ${all_folders[*]} suite " in
    *" $part "*) folders+=("${part/#suite/${usual[*]}}") ;;
    *) others+=("$part") ;;
    esac
done
parts=("${others[@]}")
if [ ${#folders[@]} -gt 0 ]; then
    parts+=(suite)
    read -ra folders <<<"${folders[*]}"
else
    folders=("${usual[@]}")
fi
if [ ${#parts[@]} -eq 0 ]; then
    parts=(programs suite structures switches)
    [ $quick = yes ] || parts+=(mpi4py)
fi
case "$ch4 ${folders[*]}" in "yes "*ft*) die "ch4 has no fault tolerance to test" ;; esac
[ -x "$work/ours/bin/mpiexec" ] && [ -x "$work/stock/bin/mpiexec" ] ||
    die "nothing to test; run integrations/mpich/$again_with first"
need python3 python3
need setsid util-linux
need pgrep procps
need perl perl
case " ${parts[*]} " in *" mpi4py "*) need_mpi4py ;; esac
check_needs
# More ranks than cores: a waiting rank yields to the others.
export MPIR_CVAR_POLLS_BEFORE_YIELD=1
launch=(mpiexec)
build_mq
case " ${parts[*]} " in *" mpi4py "*) prepare_mpi4py ;; esac
scratch=$work/scratch
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"

tested=(ring wildcards cancels dynamic threads leavings lengths tools)
# ch4 has no MPIX_Comm_revoke.
[ "$ch4" = yes ] || tested+=(revoke shrink)
for program in "${tested[@]}"; do
    compile stock $program
    compile ours $program
done

# run WHICH PROGRAM LAUNCHER'S-ARGUMENTS...: prints how it ended; the program's own argument is `argument`.
run() {
    local which=$1 program=$2
    shift 2
    outcome 120 "$which-$program.log" "$which" "${launch[@]}" "$@" -n 3 "$work/programs-$which/$program" \
        ${argument:-}
}

revoke() {
    local argument=receives
    row "revoke, with receives posted" "$(run stock revoke -disable-auto-cleanup)" \
        "$(run ours revoke -disable-auto-cleanup)"
    # Stock ends in an assertion of its own. The sender of an announced long message waits forever, on either.
    argument=short
    ours_only "revoke, with messages waiting" "$(run ours revoke -disable-auto-cleanup)" passed
    # Stock drops messages of the shrinking that are there before their receives, and waits for them forever.
    ours_only "shrink, whoever is late" "$(run ours shrink -disable-auto-cleanup)" passed
}

is_built_with() {
    grep -q -e "$1" <<<"$("$work/stock/bin/mpichversion")"
}

# An engine for each VCI, which communicators share.
several_vcis() {
    local vcis program
    if ! is_built_with enable-thread-cs=per-vci; then
        say "not built in, and not tested: VCIs (MQ_CONFIGURE=--enable-thread-cs=per-vci $again_with --again)"
        return
    fi
    for vcis in 2 8; do
        export MPIR_CVAR_CH4_NUM_VCIS=$vcis
        for program in ring wildcards cancels threads leavings; do
            row "$program, $vcis VCIs" "$(run stock $program)" "$(run ours $program)"
        done
        export MQ_TRACE=$scratch/trace-$vcis-vcis
        run ours threads >/dev/null
        ours_only "MQ_TRACE: threads, $vcis VCIs" "$(replayed "$MQ_TRACE" list,indexed)" "3 traces, 0 mismatches"
        unset MQ_TRACE MPIR_CVAR_CH4_NUM_VCIS
    done
}

programs() {
    for program in ring wildcards cancels dynamic threads leavings; do
        row "$program" "$(run stock $program)" "$(run ours $program)"
    done
    if [ "$ch4" = yes ]; then
        # Nothing through shared memory, and libfabric matches nothing.
        export MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_OFI_ENABLE_TAGGED=0
        for program in ring wildcards cancels; do
            row "$program, by libfabric's active messages" "$(run stock $program)" "$(run ours $program)"
        done
        export MQ_TRACE=$scratch/trace-messages
        run ours ring >/dev/null
        unset MQ_TRACE
        matched=$(cat "$scratch/trace-messages"/*.mqt | grep -c '^a ' || true)
        ours_only "these are matched by mq" "$([ "$matched" -gt 1000 ] && echo yes)" yes
        unset MPIR_CVAR_NOLOCAL MPIR_CVAR_CH4_OFI_ENABLE_TAGGED
        several_vcis
    else
        # Not through shared memory: by TCP, or by libfabric's matching where that is built in.
        network=TCP
        ! is_built_with device=ch3:nemesis:ofi || network=libfabric
        export MPIR_CVAR_NOLOCAL=1
        for program in ring wildcards cancels threads leavings; do
            row "$program, by $network" "$(run stock $program)" "$(run ours $program)"
        done
        unset MPIR_CVAR_NOLOCAL
        revoke
    fi
    if is_built_with enable-mpit-pvars; then
        check_lengths posted_recvq_length unexpected_recvq_length
    else
        say "not built in, and not tested: MPI_T's variables (MQ_CONFIGURE=--enable-mpit-pvars=recvq $again_with --again)"
    fi
}

# MPICH's own tests, compiled once with stock; the library that they load is chosen at run time.
prepare_suite() {
    [ -f "$work/suite/ready" ] && return
    say "MPICH's tests"
    mkdir -p "$work/suite"
    cd "$work/suite"
    logged configure.log "../source-stock/test/mpi/configure" --with-mpi="$work/stock" --disable-fortran \
        --disable-cxx --disable-spawn --disable-romio
    logged make.log make -C util
    logged make.log make -C dtpools
    # Some need what is missing (Fortran, C11 threads): the run shows which, the same for stock and ours.
    for folder in "${all_folders[@]}"; do
        make -C "$folder" -k -j"$jobs" >>make.log 2>&1 || true
    done
    touch ready
    cd "$scratch"
}

ranks=${MQ_MAX_RANKS:-4}

# list_of WHICH FOLDER: the file that lists which tests passed, failed and were skipped; it exists once all have run.
list_of() {
    echo "$work/suite-$1/$2-$ranks.list"
}

# suite_of WHICH FOLDER: runs a folder's tests; prints how many passed, were skipped and failed.
suite_of() {
    local tap=$work/suite-$1/$2-$ranks.tap list
    list=$(list_of "$1" "$2")
    mkdir -p "$work/suite-$1"
    # Results of another build are not reused.
    if [ $resume = no ] || [ ! -s "$list" ] || [ "$work/$1/lib/libmpi.so" -nt "$list" ] ||
        { [ "$1" = ours ] && [ "$work/mq/lib/libmq.so" -nt "$list" ]; }; then
        rm -f "$list" "$tap"
        (cd "$work/suite" && with "$1" ./runtests -srcdir="$work/source-stock/test/mpi" -tests=testlist \
            -testdirs="$2" -maxnp="$ranks" -mpiexec="$work/$1/bin/mpiexec" -tapfile="$tap") \
            >"$work/suite-$1/$2-$ranks.log" 2>&1 || true
    fi
    grep -q '^\(ok\|not ok\)' "$tap" 2>/dev/null ||
        die "no test of $2 was run with $1 (the output is in $work/suite-$1/$2-$ranks.log)"
    # Tests that MPICH itself expects to fail are not run, and count as `ok ... # SKIP` there.
    sed -n -e 's/^ok *- \([^#]*\)# *SKIP.*/skipped \1/p' -e t \
        -e 's/^\(ok\|not ok\) *- \([^#]*\).*/\1 \2/p' "$tap" | sed 's/ *$//' | sort >"$list.part"
    mv "$list.part" "$list"
    counts_of "$list"
}

counts_of() {
    echo "$(grep -c '^ok' "$1") ok, $(grep -c '^skipped' "$1") skipped, $(grep -c '^not' "$1") not ok"
}

suite() {
    prepare_suite
    for folder in "${folders[@]}"; do
        row "test/mpi/$folder, $ranks ranks" "$(suite_of stock "$folder")" "$(suite_of ours "$folder")"
        if ! diff "$(list_of stock "$folder")" "$(list_of ours "$folder")" >"$folder.diff"; then
            row "test/mpi/$folder, by test" "" "$(wc -l <"$folder.diff") lines differ"
            cat "$folder.diff"
        elif grep '^not' "$(list_of stock "$folder")" >cannot; then
            sed 's/^not ok/  cannot run here, on stock either:/' cannot
        fi
    done
}

mpi4py() {
    row "mpi4py $mpi4py_version" "$(mpi4py_suite stock 1800 "${launch[@]}")" \
        "$(mpi4py_suite ours 1800 "${launch[@]}")"
}

# The number of traces that give the communicator of all three with its size.
sized() {
    grep -l '^c [0-9]* 3 [0-2]$' "$1"/*.mqt | wc -l
}

structures() {
    local argument=20
    for structure in $all_structures; do
        export MQ_STRUCTURE=$structure
        results=$(for program in ring wildcards cancels; do run ours $program; done | sort -u)
        ours_only "ring, wildcards and cancels with $structure" "$results" passed
        unset MQ_STRUCTURE
    done
}

switches() {
    local argument=20
    check_variables mpich
    for program in ring wildcards cancels; do
        export MQ_TRACE=$scratch/trace-$program
        run ours $program >/dev/null
        ours_only "MQ_TRACE: $program" "$(replayed "$MQ_TRACE"), $(sized "$MQ_TRACE") with sizes" \
            "3 traces, 0 mismatches, 3 with sizes"
    done
    unset MQ_TRACE
    check_tools
    check_killed 5
}

head_of_table "MPICH 4.0.2, $device"
for part in "${parts[@]}"; do
    timed "$part"
done
total
