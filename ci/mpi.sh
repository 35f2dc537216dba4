#!/usr/bin/env bash
# Checks that need an MPI library: the programs of integrations/ that use no revoked communicator, benches/mpi and
# benches/node compile without warnings and run on Debian's Open MPI and MPICH, and integrations/differential passes
# clippy and finds that every structure agrees with both. Installs missing packages; needs cc, python3, taskset and
# setsid.
set -euo pipefail
cd "$(dirname "$0")/.."
. integrations/ending.sh
packages=(openmpi-bin libopenmpi-dev mpich libmpich-dev libclang-dev)
for need in mpicc.openmpi mpirun.openmpi mpicc.mpich mpirun.mpich; do
    if ! command -v "$need" >/dev/null; then
        apt-get update -qq && apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
        break
    fi
done
for script in integrations/*.sh integrations/*/*.sh benches/*.sh benches/mpi/*.sh benches/node/*.sh; do
    bash -n "$script"
done
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
end_jobs_on_signals

# limited SECONDS COMMAND...: runs a command that starts ranks, which end when it or this script does.
limited() {
    local seconds=$(($1 * ${MQ_SLOWER:-1})) status=0
    shift
    alone "$seconds" "$@" &
    status_of $! || status=$?
    case $status in 124 | 137)
        echo "ci/mpi.sh: $* was ended after $seconds s (on a slow machine: MQ_SLOWER=5)" >&2
        ;;
    esac
    return "$status"
}

# say SECONDS COMMAND...: the same; sets `said` to what it prints. (In a subshell it would miss this script's signals.)
say() {
    local status=0
    limited "$@" >"$made/said" || status=$?
    said=$(<"$made/said")
    return "$status"
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# MPICH's MPI_STATUSES_IGNORE is the address 1, which GCC takes for an array of size 0.
flags="-std=c99 -O2 -Wall -Wextra -Werror -Wno-stringop-overflow -Wno-stringop-overread"
for library in openmpi mpich; do
    launch="mpirun.$library"
    [ $library = mpich ] || launch="$launch --oversubscribe"
    for program in ring wildcards cancels lengths; do
        mpicc.$library $flags integrations/programs/$program.c -o "$made/$program"
        echo "== $program on $library"
        rounds=
        [ $program != ring ] || rounds=10
        limited 120 $launch -n 3 "$made/$program" $rounds
    done
    mpicc.$library $flags benches/mpi/*.c -o "$made/matching"
    echo "== benches/mpi on $library"
    say 120 $launch -n 2 "$made/matching" --depths 0,16 --repetitions 2
    tail -n 3 <<<"$said"
done
# Every mode on both libraries and the bare hardware; MPICH also in the place of ours, through the rows that the
# README defines.
echo "== benches/node"
mpicc.mpich $flags benches/node/{node,modes,calls,sampling}.c -o "$made/node"
# Without --yield, MPICH spins to the end of its time slice if processes share a core.
as_ours="mpirun.mpich -n {n} $made/node {mode} {args}"
limited 600 benches/node/compare.sh --quick --libraries openmpi,mpich --senders 1,2 --ours "$as_ours" \
    --ours-rate "$as_ours --yield" --ours-halo "$as_ours --yield" --raw "$made/rows"
benches/node/tabulate.py "$made/rows" --format json | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
assert {row["mode"] for row in rows} == {"pingpong", "bandwidth", "rate", "halo", "calls"}, rows
for row in rows:
    assert set(row["contestants"]) - {"openmpi-testall"} == {"openmpi", "mpich", "ours"} and row["to_fastest"]["ours"] > 0, row
    bare = {"pingpong": 2, "bandwidth": 3 if row.get("by") == "window" else 2}.get(row["mode"], 0)
    assert len(row["bare"]) == bare, row
'
# A quick comparison has a row for each of the seven goals, met or missed.
goals=$(benches/node/tabulate.py "$made/rows" --format json | benches/node/goals.py | tail -n +3)
[ "$(grep -c -E '\| (met|missed: .*) \|$' <<<"$goals")" -eq 7 ] || {
    echo "benches/node/goals.py: not seven goals:"$'\n'"$goals" >&2
    exit 1
}
# Everything that the README's command builds, which fresh-clone.sh runs: one package's features would give another build.
cargo build --quiet --release
say 300 benches/node/lines.py --mq "${CARGO_TARGET_DIR:-target}/release/mq" --rounds 2 --samples 2 --block 200 \
    --steady 1000
grep -qE '^\| .* \| (met|missed) \|$' <<<"$said" || {
    echo "benches/node/lines.py: no row:"$'\n'"$said" >&2
    exit 1
}
say 600 benches/node/switches.py --only policies --rounds 1 --samples 1 --block 50
[ "$(grep -c -E '^\| [0-9,]+ bytes.* \| [0-9]' <<<"$said")" -ge 7 ] || {
    echo "benches/node/switches.py: not seven rows:"$'\n'"$said" >&2
    exit 1
}
# A library beside itself, as stock and as ours.
mkdir -p "$made/mpich/bin"
for program in mpicc mpirun; do ln -s "$(command -v $program.mpich)" "$made/mpich/bin/$program"; done
ln -s "$(command -v hydra_pmi_proxy)" "$made/mpich/bin" # mpirun looks for it beside itself
say 600 benches/mpi/compare.sh --stock "$made/mpich" --ours "$made/mpich" --structures list --orders reverse \
    --only pingpong,posted --sizes 8 --depths 0,16 --rounds 1 --repetitions 3 --budget 0.05
[ "$(grep -c -E '^\| (blocking|reverse) .* \| +[0-9.]+' <<<"$said")" -ge 5 ] || {
    echo "benches/mpi/compare.sh: not five rows:"$'\n'"$said" >&2
    exit 1
}
limited 60 benches/mpi/compare.sh --stock "$made/mpich" --ours "$made/mpich" --structures adjustment \
    >"$made/said" 2>&1 && status=0 || status=$?
if [ $status -eq 0 ] || ! grep -q 'adjustment. is not one of: list' "$made/said"; then
    echo "benches/mpi/compare.sh does not refuse the name of a parameter as a structure: $status, $(<"$made/said")" >&2
    exit 1
fi
limited 60 mpirun.mpich -n 2 "$made/node" pingpong --sizes 8,x >"$made/said" 2>&1 && status=0 || status=$?
if [ $status -ne 2 ] || ! grep -q -e --sizes "$made/said"; then
    echo "node does not refuse a size that is not a number with status 2 and a mention of --sizes:" \
        "$status, $(<"$made/said")" >&2
    exit 1
fi
# A flood of unexpected messages, few of them: every contestant has a row of figures.
cargo build --quiet --release -p mq-comm --example flood
say 900 benches/node/flood.py --quick --timeout $((100 * ${MQ_SLOWER:-1}))
[ "$(grep -c -E '^\| (mq|mq, 64M|openmpi|mpich) \| [0-9]' <<<"$said")" -eq 8 ] || {
    echo "benches/node/flood.py: not eight rows:"$'\n'"$said" >&2
    exit 1
}
# Debian's packages above bring libclang, which rsmpi's bindings need; libclang-cpp, from other packages, does not count.
compgen -G '/usr/lib/llvm-*/lib/libclang[.-][s0-9]*' >/dev/null || {
    apt-get update -qq && apt-get install -y -qq libclang-dev >/dev/null
}
# Built where its tests are, next, with MPICH.
(
    unset MPI_PKG_CONFIG CRAY_MPICH_DIR # rsmpi reads these before MPICC
    targets=$(realpath -ms "${CARGO_TARGET_DIR:-integrations/differential/target}")
    cd integrations/differential
    MPICC=mpicc.mpich CARGO_TARGET_DIR=$targets/mpich cargo clippy --locked --all-targets -- -D warnings
)
limited 600 integrations/differential/run.sh -- --rounds 12
