#!/usr/bin/env bash
# Tests the Open MPI that integrations/openmpi/build.sh built: stock and ours run the same programs and must
# end the same; then what only ours can do. Ends with a total, and with 1 if anything differs.
#
# usage: integrations/openmpi/test.sh [--quick]
#   --quick  without LAMMPS and hpcc (Debian's packages lammps and hpcc), and mpi4py on one structure only
#
# mpi4py 4.1.2 comes from PyPI. Its test of symbol coverage fails on both, because both are built without
# Fortran.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../common.sh"
quick=no
case ${1:-} in
"") ;;
--quick) quick=yes ;;
*) die "unknown argument $1; see the head of $0" ;;
esac
[ -x "$work/ours/bin/mpirun" ] && [ -x "$work/stock/bin/mpirun" ] ||
    die "nothing to test; run integrations/openmpi/build.sh first"
need python3 python3
if [ $quick = no ]; then
    need lmp lammps
    need hpcc hpcc
fi
check_needs
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launch=(mpirun --oversubscribe)
build_mq
prepare_mpi4py
scratch=$work/scratch
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"

for program in ring wildcards lengths revoke; do
    compile stock $program
    compile ours $program
done

# run WHICH PROGRAM ARGUMENTS...: how it ended.
run() {
    local which=$1 program=$2
    shift 2
    outcome 120 "$which-$program.log" "$which" "${launch[@]}" "$@" -n 3 "$work/programs-$which/$program"
}

head_of_table "Open MPI 5.0.7"
for program in ring wildcards; do
    row "$program" "$(run stock $program)" "$(run ours $program)"
done
row "revoke (fault tolerance)" "$(run stock revoke --with-ft ulfm)" "$(run ours revoke --with-ft ulfm)"
run stock lengths >lengths-ended
run ours lengths >>lengths-ended
for variable in posted_recvq unexpected_msgq; do
    values() { sed -n "s/^pml_ob1_${variable}_length: //p" "$1-lengths.log"; }
    row "performance variable ${variable}_length" "$(values stock)" "$(values ours)"
done
row "mpi4py $mpi4py_version, 3 ranks" "$(mpi4py_suite stock 900 "${launch[@]}")" \
    "$(mpi4py_suite ours 900 "${launch[@]}")"

for structure in $(structures); do
    export MQ_STRUCTURE=$structure
    results=$(for program in ring wildcards; do run ours $program; done | sort -u)
    ours_only "ring and wildcards with $structure" "$results" passed
    if [ $quick = no ]; then
        ours_only "mpi4py with $structure" "$(mpi4py_suite ours 900 "${launch[@]}")" \
            "$(mpi4py_suite stock 900 "${launch[@]}")"
    fi
done
unset MQ_STRUCTURE

# What the variables do.
complaint=$(MQ_STRUCTURE=lists MQ_STATS=maybe with ours "${launch[@]}" -n 3 "$work/programs-ours/ring" 2 2>&1 |
    grep -c 'rank 0: MQ_.* is ignored; it may be' || true)
ours_only "wrong values: one line each, then the default" "$complaint lines" "2 lines"
tables=$(MQ_STATS=1 with ours "${launch[@]}" -n 3 "$work/programs-ours/ring" 5 2>&1 |
    grep -c 'match operations in openmpi' || true)
ours_only "MQ_STATS=1: a table from each rank" "$tables tables" "3 tables"
budget=$(MQ_BUDGET_ENTRIES=5 with ours "${launch[@]}" -n 3 "$work/programs-ours/ring" 5 2>&1 |
    grep -c 'over MQ_BUDGET_ENTRIES' || true)
ours_only "MQ_BUDGET_ENTRIES: said once a rank" "$budget lines" "3 lines"
for program in ring wildcards revoke; do
    extra=()
    [ $program = revoke ] && extra=(--with-ft ulfm)
    MQ_TRACE=$scratch/trace-$program run ours $program "${extra[@]}" >/dev/null
    ours_only "MQ_TRACE: $program replays" "$(replayed "$scratch/trace-$program")" "3 traces, 0 mismatches"
done
MQ_TRACE=$scratch/trace-mpi4py mpi4py_suite ours 900 "${launch[@]}" >/dev/null
ours_only "MQ_TRACE: mpi4py replays" "$(replayed "$scratch/trace-mpi4py" list,indexed)" "3 traces, 0 mismatches"
MQ_TRACE=$scratch/trace-killed with ours "${launch[@]}" -n 3 "$work/programs-ours/ring" 1000000 >killed.log 2>&1 &
launched=$!
sleep 3
pkill -KILL -f programs-ours/ring || true
wait $launched || true
ours_only "MQ_TRACE: readable after SIGKILL" "$(replayed "$scratch/trace-killed" list,indexed)" \
    "3 traces, 0 mismatches"

# Unmodified applications.
if [ $quick = no ]; then
    sed 's/^1000  *Ns/120 Ns/' /usr/share/doc/hpcc/examples/_hpccinf.txt >hpccinf.txt
    melt=(lmp -in "$root/integrations/inputs/melt.in" -log none)
    app() { # WHICH NAME COMMAND...
        local which=$1 name=$2
        shift 2
        outcome 300 "$which-$name.log" "$which" "${launch[@]}" -n 4 "$@"
    }
    thermo() { awk '/^ *Step/ { on = 1 } /^Loop/ { on = 0 } on' "$1-lammps.log" | md5sum | cut -c1-8; }
    row "LAMMPS melt" "$(app stock lammps "${melt[@]}")" "$(app ours lammps "${melt[@]}")"
    row "LAMMPS melt: thermodynamic output" "$(thermo stock)" "$(thermo ours)"
    row "hpcc" "$(app stock hpcc hpcc)" "$(app ours hpcc hpcc)"
    for structure in $(structures); do
        export MQ_STRUCTURE=$structure
        for round in 1 2; do
            export MQ_TRACE=$scratch/apps-$structure-$round
            results=$( (app ours lammps "${melt[@]}" && app ours hpcc hpcc) | sort -u)
            unset MQ_TRACE
            ours_only "LAMMPS and hpcc with $structure" "$results" passed
            ours_only "their traces, recorded time $round" \
                "$(replayed "$scratch/apps-$structure-$round" list,indexed,"$structure")" \
                "8 traces, 0 mismatches"
        done
    done
    unset MQ_STRUCTURE
fi
total
