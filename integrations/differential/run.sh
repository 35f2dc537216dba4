#!/usr/bin/env bash
# Builds the differential test for Debian's Open MPI and MPICH, or for an MPI library installed elsewhere, and runs its
# unit tests and the test itself. Installs nothing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../ending.sh"

usage() {
    cat <<TEXT
usage: integrations/differential/run.sh [OPTION...] [-- ARGUMENT...]

Needs libclang, and an MPI library with its compiler wrapper. Builds once for each library, in target/openmpi,
target/mpich and target/prefix-NUMBER of this folder, or of CARGO_TARGET_DIR. Exit codes: 0 all passed,
1 a difference or something missing, 2 bad usage.

  --only NAME      openmpi or mpich (both)
  --prefix DIR     the library of DIR/bin/mpicc and DIR/bin/mpirun instead of Debian's two
  --ranks N        2 to 64 (4)
  --timeout SECONDS   per run; one that takes longer has failed (600)
  ARGUMENT...      for the test: --seed, --rounds, --steps, --timeout; -- --help lists them

examples:
  integrations/differential/run.sh
  integrations/differential/run.sh --only mpich -- --seed 1000 --rounds 500
  integrations/differential/run.sh --prefix /opt/openmpi-mq --ranks 3
TEXT
}

die() {
    echo "run.sh: $*" >&2
    exit 1
}

misused() {
    echo "run.sh: $*; --help shows examples" >&2
    exit 2
}

parse() {
    while [ $# -gt 0 ]; do
        case "$1" in
        -h | --help)
            usage
            exit 0
            ;;
        --)
            shift
            arguments=("$@")
            return
            ;;
        --only | --prefix | --ranks | --timeout) ;;
        *) misused "unknown argument \`$1\`" ;;
        esac
        [ $# -ge 2 ] || misused "$1 needs a value"
        option=${1#--}
        printf -v "$option" %s "$2"
        shift 2
    done
}

# whole NAME VALUE LEAST MOST: dies unless VALUE is a whole number from LEAST to MOST.
whole() {
    if ! [[ $2 =~ ^[0-9]{1,6}$ ]] || [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
        misused "$1: \`$2\` is not a whole number from $3 to $4"
    fi
}

check_arguments() {
    [[ $only =~ ^(openmpi|mpich)?$ ]] || misused "--only: \`$only\` is neither openmpi nor mpich"
    [ -z "$only" ] || [ -z "$prefix" ] || misused "--only chooses among Debian's libraries, --prefix is another"
    whole --ranks "$ranks" 2 64
    whole --timeout "$timeout" 1 999999
}

# have_libclang: whether bindgen will find libclang; libclang-cpp does not count.
have_libclang() {
    [ -z "${LIBCLANG_PATH:-}" ] || return 0
    compgen -G '/usr/lib*/libclang[.-][s0-9]*' || compgen -G '/usr/lib/*/libclang[.-][s0-9]*' ||
        compgen -G '/usr/lib/llvm-*/lib/libclang[.-][s0-9]*' || compgen -G '/usr/local/lib/libclang[.-][s0-9]*'
} >/dev/null

# need PROGRAM PACKAGES: dies unless the program exists.
need() {
    command -v "$1" >/dev/null || die "$1 is not installed; install it: apt-get install $2"
}

# launcher MPIRUN: sets flags so that more ranks than cores may run, if it needs any.
launcher() {
    local version
    version=$("$1" --version 2>&1) || true
    case "$version" in
    *'Open MPI'* | *OpenRTE*) flags=(--oversubscribe --bind-to none) ;;
    *) flags=() ;;
    esac
}

# with_mpicc MPICC TARGET COMMAND...: runs cargo on this crate, with a library.
with_mpicc() {
    local mpicc=$1 target=$2
    shift 2
    (
        # rsmpi reads these before MPICC.
        unset MPI_PKG_CONFIG CRAY_MPICH_DIR
        cd "$here"
        export MPICC=$mpicc CARGO_TARGET_DIR=$target
        alone 0 cargo "$@" --locked
    ) &
    status_of $!
}

# check NAME MPICC MPIRUN: builds and runs; counts the outcome.
check() {
    local target=$targets/$1 status=0
    echo "== $1"
    with_mpicc "$2" "$target" build || die "the test does not build with $2"
    with_mpicc "$2" "$target" test --quiet || die "the unit tests fail with $2"
    ldd "$target/debug/mq-differential" | sed -n 's/^[[:space:]]*\(libmpi[^ ]* => [^ ]*\).*/\1/p'
    launcher "$3"
    alone "$timeout" "$3" "${flags[@]}" -n "$ranks" \
        "$target/debug/mq-differential" ${arguments[@]+"${arguments[@]}"} &
    status_of $! || status=$?
    if [ "$status" -eq 0 ]; then
        echo "== $1 passed"
    else
        echo "== $1 FAILED with status $status"
        failed=1
    fi
}

only='' prefix='' ranks=4 timeout=600 arguments=() failed=0
parse "$@"
check_arguments
need cargo cargo
need timeout coreutils
need setsid util-linux
have_libclang || die "libclang is not installed; install it: apt-get install libclang-dev (or set LIBCLANG_PATH)"
targets=$(realpath -ms "${CARGO_TARGET_DIR:-$here/target}")
# Otherwise Open MPI refuses to run as root; containers have no other user.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
end_jobs_on_signals
if [ -n "$prefix" ]; then
    prefix=$(realpath -ms "$prefix")
    for tool in mpicc mpirun; do
        [ -x "$prefix/bin/$tool" ] || die "--prefix: $prefix/bin/$tool does not exist or is not executable"
    done
    export PATH=$prefix/bin:$PATH
    for folder in "$prefix/lib64" "$prefix/lib"; do
        [ ! -d "$folder" ] || export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    done
    # A build is for one library, so each prefix has a folder of its own.
    check "prefix-$(printf %s "$prefix" | cksum | cut -d' ' -f1)" "$prefix/bin/mpicc" "$prefix/bin/mpirun"
    exit "$failed"
fi
if [ "$only" != mpich ]; then
    need mpicc.openmpi "libopenmpi-dev openmpi-bin"
    need mpirun.openmpi "libopenmpi-dev openmpi-bin"
fi
if [ "$only" != openmpi ]; then
    need mpicc.mpich "libmpich-dev mpich"
    need mpirun.mpich "libmpich-dev mpich"
fi
[ "$only" = mpich ] || check openmpi mpicc.openmpi mpirun.openmpi
[ "$only" = openmpi ] || check mpich mpicc.mpich mpirun.mpich
exit "$failed"
