#!/usr/bin/env bash
# Tests the Open MPI builds of integrations/openmpi/build.sh: stock and ours run the same programs and must
# end the same way; then what only ours can do. Ends with a total, and with status 1 if anything differs.
#
# usage: integrations/openmpi/test.sh [--quick] [PART...]
#   parts: programs mpi4py structures switches applications; all if none is named
#   --quick  programs, mpi4py, switches; structures without mpi4py: about 10 minutes on two cores
#
# applications needs Debian's packages lammps and hpcc; mpi4py 4.1.2 comes from PyPI.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../common.sh"
parse quick "programs mpi4py structures switches applications" "$@"
if [ ${#parts[@]} -eq 0 ]; then
    parts=(programs mpi4py structures switches)
    [ $quick = yes ] || parts+=(applications)
fi
[ -x "$work/ours/bin/mpirun" ] && [ -x "$work/stock/bin/mpirun" ] ||
    die "nothing to test; run integrations/openmpi/build.sh first"
need python3 python3
need setsid util-linux
need pgrep procps
case " ${parts[*]} " in *" applications "*)
    need lmp lammps
    need hpcc hpcc
    ;;
esac
case " ${parts[*]} " in *" mpi4py "* | *" structures "* | *" switches "*) need_mpi4py ;; esac
check_needs
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launch=(mpirun --oversubscribe)
build_mq
case " ${parts[*]} " in *" mpi4py "* | *" structures "* | *" switches "*) prepare_mpi4py ;; esac
scratch=$work/scratch
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"

for program in ring wildcards cancels dynamic threads leavings lengths revoke shrink tools; do
    compile stock $program
    compile ours $program
done

# run WHICH PROGRAM ARGUMENTS...: prints how it ended.
run() {
    local which=$1 program=$2
    shift 2
    outcome 120 "$which-$program.log" "$which" "${launch[@]}" "$@" -n 3 "$work/programs-$which/$program"
}

suite() { # WHICH
    mpi4py_suite "$1" 900 "${launch[@]}"
}

programs() {
    for program in ring wildcards cancels dynamic threads leavings; do
        row "$program" "$(run stock $program)" "$(run ours $program)"
    done
    for program in revoke shrink; do
        row "$program (fault tolerance)" "$(run stock $program --with-ft ulfm)" "$(run ours $program --with-ft ulfm)"
    done
    check_lengths pml_ob1_posted_recvq_length pml_ob1_unexpected_msgq_length
}

# To save time, the run that is compared is also the one that is recorded.
mpi4py() {
    [ $quick = no ] || export MQ_TRACE=$scratch/trace-mpi4py
    row "mpi4py $mpi4py_version" "$(suite stock)" "$(suite ours)"
    unset MQ_TRACE
}

structures() {
    local on_stock
    [ $quick = yes ] || on_stock=$(suite stock)
    for structure in $all_structures; do
        export MQ_STRUCTURE=$structure
        results=$(for program in ring wildcards cancels; do run ours $program; done | sort -u)
        ours_only "ring, wildcards and cancels with $structure" "$results" passed
        [ $quick = yes ] || row "mpi4py with $structure" "$on_stock" "$(suite ours)"
        unset MQ_STRUCTURE
    done
}

switches() {
    check_variables openmpi
    for program in ring wildcards cancels revoke; do
        extra=()
        [ $program = revoke ] && extra=(--with-ft ulfm)
        export MQ_TRACE=$scratch/trace-$program
        run ours $program "${extra[@]}" >/dev/null
        ours_only "MQ_TRACE: $program" "$(replayed "$MQ_TRACE")" "3 traces, 0 mismatches"
    done
    export MQ_TRACE=$scratch/trace-mpi4py
    [ -d "$MQ_TRACE" ] || suite ours >/dev/null
    ours_only "MQ_TRACE: mpi4py" "$(replayed "$MQ_TRACE" list,indexed)" "3 traces, 0 mismatches"
    unset MQ_TRACE
    check_tools
    check_killed 3
}

# app WHICH NAME COMMAND...: prints how an application ended, unmodified.
app() {
    local which=$1 name=$2
    shift 2
    outcome 300 "$which-$name.log" "$which" "${launch[@]}" -n 4 "$@"
}

applications() {
    sed 's/^1000  *Ns/120 Ns/' /usr/share/doc/hpcc/examples/_hpccinf.txt >hpccinf.txt
    melt=(lmp -in "$root/integrations/inputs/melt.in" -log none)
    # Its results: the columns step, temperature and energies.
    computed() {
        local table
        table=$(awk '/^ *Step/ { on = 1 } /^Loop/ { on = 0 } on' "$1-lammps.log")
        [ -z "$table" ] || md5sum <<<"$table" | cut -c1-8
    }
    row "LAMMPS melt" "$(app stock lammps "${melt[@]}")" "$(app ours lammps "${melt[@]}")"
    row "LAMMPS melt: what it computed" "$(computed stock)" "$(computed ours)"
    row "hpcc" "$(app stock hpcc hpcc)" "$(app ours hpcc hpcc)"
    for structure in $all_structures; do
        export MQ_STRUCTURE=$structure
        for round in 1 2; do
            export MQ_TRACE=$scratch/apps-$structure-$round
            results=$( (app ours lammps "${melt[@]}" && app ours hpcc hpcc) | sort -u)
            ours_only "LAMMPS and hpcc with $structure" "$results" passed
            ours_only "their traces, recorded time $round" \
                "$(replayed "$MQ_TRACE" "list,indexed,$structure")" "8 traces, 0 mismatches"
            unset MQ_TRACE
        done
        unset MQ_STRUCTURE
    done
}

head_of_table "Open MPI 5.0.7"
for part in "${parts[@]}"; do
    timed "$part"
done
total
