# Shared by the integrations' scripts. Sourced, with `here` set to the integration's folder.
. "$here/../ending.sh"

# Paths are absolute and without links, since scripts change folders and the system reports programs that way.
root=$(cd "$here/../.." && pwd -P)
name=$(basename "$here")
work=$(realpath -m "${MQ_INTEGRATIONS_DIR:-$root/target/integrations}")/$name
# Where the source's archive is: `work` may become the folder of another build of the same source.
archives=$work
[ -z "${CARGO_TARGET_DIR:-}" ] || CARGO_TARGET_DIR=$(realpath -m "$CARGO_TARGET_DIR")
jobs=$(nproc)
# Tests use the defaults unless they say otherwise.
unset MQ_STRUCTURE MQ_TRACE MQ_STATS MQ_BUDGET_ENTRIES MQ_BUDGET_BYTES

say() { echo "== $*"; }

die() {
    echo "integrations/$name: $*" >&2
    exit 1
}

# parse FLAGS WORDS ARGUMENT...: sets the variable of each --FLAG to yes, those of the others to no; words go to
# `parts`. The script's head comment is its help.
parse() {
    local flags=$1 words=$2 flag argument
    shift 2
    parts=()
    for flag in $flags; do
        printf -v "$flag" no
    done
    for argument; do
        case " --${flags// / --} $words " in
        *" $argument "*) ;;
        *)
            [ "$argument" != --help ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit; }
            die "unknown argument $argument; --help lists them"
            ;;
        esac
        case $argument in
        --*) printf -v "${argument#--}" yes ;;
        *) parts+=("$argument") ;;
        esac
    done
}

# need COMMAND PACKAGE...: check_needs reports everything missing at once.
missing=()
need() {
    command -v "$1" >/dev/null || missing+=("$2")
}
need_header() { # HEADER PACKAGE [FLAGS]
    # shellcheck disable=SC2086
    printf '#include <%s>\n' "$1" | cc -E ${3:-} -x c - >/dev/null 2>&1 || missing+=("$2")
}
# Requirements for building mpi4py.
need_mpi4py() {
    command -v python3 >/dev/null || return 0
    python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
    need_header Python.h python3-dev "-I$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')"
}
check_needs() {
    [ ${#missing[@]} -eq 0 ] || die "missing packages; install them first: apt-get install ${missing[*]}"
}

# The Debian mirror that this machine uses: of Debian itself, whose name other vendors' addresses may have too, and of
# what has all its sources.
mirror() {
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
        awk '$2 !~ /security|debug/ { print $1; exit }'
}

# fetch ARCHIVE: fetches the orig archive of Debian's source package $name, $release of $suite. apt works in folders of
# its own, so that the machine's configuration stays as it is; it checks the archive against the suite's
# signature.
fetch() {
    local orig=$1 from
    [ -f "$orig" ] && return
    from=$(mirror) || true
    [ -n "$from" ] || die "apt knows no Debian mirror: put $(basename "$orig"), of Debian's source package" \
        "$name $release, into $archives; or build as integrations/README.md says under \"By hand\""
    say "fetching $name $release from Debian $suite"
    local apt=$archives/apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    printf 'deb-src [signed-by=%s] %s %s main\n' \
        /usr/share/keyrings/debian-archive-keyring.gpg "$from" "$suite" >"$apt/sources.list"
    local options=(-o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=)
    apt-get "${options[@]}" update -qq ||
        die "apt cannot read the sources of Debian $suite"
    # Into a place of its own, so that apt resumes what an interrupted run leaves, and nothing else uses it.
    mkdir -p "$apt/download"
    (cd "$apt/download" && apt-get "${options[@]}" source -qq --download-only "$name=$release") ||
        die "apt cannot fetch the source of $name $release"
    [ -f "$apt/download/$(basename "$orig")" ] && mv "$apt/download"/* "$archives"
    [ -f "$orig" ] || die "the source of $name $release came without $(basename "$orig")"
}

# unpack ARCHIVE FOLDER: the folder exists only when it is complete, so an interrupted run starts again. It says in
# .unpacked which archive it is from.
unpack() {
    rm -rf "$2" "$2.part"
    mkdir -p "$2.part"
    tar -xf "$1" -C "$2.part" --strip-components=1
    basename "$1" >"$2.part/.unpacked"
    mv "$2.part" "$2"
}

# prepare WHICH: unpacks the source as source-WHICH unless it is there, from this release's archive, and --again was not
# given.
prepare() {
    local orig=$archives/${name}_${release%-*}.orig.tar.xz
    [ "$again" = no ] && [ "$(cat "$work/source-$1/.unpacked" 2>/dev/null)" = "$(basename "$orig")" ] && return
    fetch "$orig"
    say "unpacking $1"
    unpack "$orig" "$work/source-$1"
}

# logged FILE COMMAND...: writes the output to a log, whose end is shown if the command fails.
logged() {
    local log=$1
    shift
    if ! "$@" >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        die "failed: $* (the whole output is in $log)"
    fi
}

# Installs libmq where the patched library will find it.
install_libmq() {
    say "libmq"
    logged "$work/libmq.log" make -C "$root/crates/mq-ffi" install PREFIX="$work/mq" \
        TARGET="${CARGO_TARGET_DIR:-$root/target}"
}

# built WHICH: whether it exists and may stay. Dies if it was built with another MQ_CONFIGURE, from another release or
# with other options of the script.
built() {
    [ "$again" = no ] && [ -x "$work/$1/bin/mpiexec" ] || return
    local then
    then=$(cat "$work/$1/mq-configure" 2>/dev/null) || true
    [ "$then" = "${MQ_CONFIGURE:-}" ] ||
        die "$1 was built with MQ_CONFIGURE='$then'; --again rebuilds it with the current one"
    then=$(cat "$work/$1/mq-release" 2>/dev/null) || true
    [ "$then" = "$name $release ${options[*]}" ] ||
        die "$1 was built from or with '$then', not '$name $release ${options[*]}'; --again rebuilds it"
}

# build WHICH CONFIGURE-OPTIONS...: configures, builds and installs source-WHICH into WHICH. MQ_CONFIGURE may hold
# further options for both, separated by spaces.
build() {
    local which=$1
    shift
    # From scratch: results of other options would stay, as nothing there depends on the options.
    rm -rf "$work/build-$which" "${work:?}/$which"
    mkdir -p "$work/build-$which"
    cd "$work/build-$which"
    local start=$SECONDS
    say "configuring $which"
    # shellcheck disable=SC2086
    logged configure.log "../source-$which/configure" --prefix="$work/$which" "$@" ${MQ_CONFIGURE:-}
    say "building $which"
    logged make.log make -j"$jobs"
    logged install.log make install
    echo "${MQ_CONFIGURE:-}" >"$work/$which/mq-configure"
    echo "$name $release ${options[*]}" >"$work/$which/mq-release"
    say "$which: $((SECONDS - start)) s, in $work/$which"
}

# Results: row WHAT STOCK OURS prints a line of the table. The two must be the same, and not a failure: if both sides
# end early, nobody knows what the rest would have shown.
passed=0 failed=0
row() {
    local verdict=same
    if [ "$2" != "$3" ]; then
        failed=$((failed + 1)) verdict=DIFFERENT
    elif nothing_ran "$2"; then
        failed=$((failed + 1)) verdict="NOTHING RAN"
    elif [[ $2 == "0 ok, "* ]]; then
        failed=$((failed + 1)) verdict="NOTHING PASSED"
    elif [[ $2 == "failed ("* || $2 == "timed out"* ]]; then
        failed=$((failed + 1)) verdict="FAILS ON BOTH"
    else
        passed=$((passed + 1))
    fi
    printf '| %-44s | %-30s | %-30s | %s |\n' "$1" "$2" "$3" "$verdict"
}
# nothing_ran RESULT: whether it is the result of a broken launcher or suite, the same on both sides.
nothing_ran() {
    case $1 in
    "" | "0 ok, "*" skipped, 0 not ok" | "none ran"* | "failed (126)" | "failed (127)") return 0 ;;
    *) return 1 ;;
    esac
}
# ours_only WHAT RESULT WANTED: prints a line for what stock cannot do.
ours_only() {
    local verdict=$3
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1)) verdict=good
    else
        failed=$((failed + 1)) verdict=FAILED
    fi
    printf '| %-44s | %-30s | %-30s | %s |\n' "$1" "-" "$2" "$verdict"
}
head_of_table() {
    printf '| %-44s | %-30s | %-30s | %s |\n' "$1" stock ours verdict
    printf '| %s | %s | %s | --- |\n' --- --- ---
}
total() {
    [ ${#took[@]} -eq 0 ] || printf '%s, ' "${took[@]}"
    echo "$SECONDS s in all"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# with WHICH COMMAND...: runs a command with an installation first in its paths.
with() {
    local prefix=$work/$1
    shift
    (
        export PATH="$prefix/bin:$PATH" LD_LIBRARY_PATH="$prefix/lib"
        "$@"
    )
}

# However this script ends, even by a signal, its descendants end too.
end_below() {
    # Processes are split into words on purpose.
    # shellcheck disable=SC2046
    kill $(below $$) || true
} 2>/dev/null
trap end_below EXIT

# limited SECONDS COMMAND...: runs a command with a time limit, and timeout's status. It has a shell of its own, which
# handles signals: a shell that reads the output of $(...) handles none before that ends.
limited() (
    end_jobs_on_signals
    alone "$@" &
    status_of $!
)

# outcome SECONDS LOG WHICH COMMAND...: prints how a command ended, run with an installation first in its paths.
outcome() {
    local seconds=$1 log=$2 which=$3 status=0
    shift 3
    with "$which" limited "$seconds" "$@" >"$log" 2>&1 || status=$?
    case $status in
    0) echo passed ;;
    # 137 if it had to be killed.
    124 | 137) echo "timed out after $seconds s" ;;
    *) echo "failed ($status)" ;;
    esac
}

# Sets `all_structures` to the structures' names.
find_structures() {
    all_structures=$("$mq" structures --format json | sed -n 's/.*"name": *"\([^"]*\)".*/\1/p') && [ -n "$all_structures" ] ||
        die "$mq structures lists none"
}

# Builds mq, for replaying recordings.
build_mq() {
    say "mq"
    logged "$work/mq.log" cargo build --release --quiet --manifest-path "$root/Cargo.toml" -p mq-cli \
        --target-dir "${CARGO_TARGET_DIR:-$root/target}"
    mq=${CARGO_TARGET_DIR:-$root/target}/release/mq
    find_structures
}

# replayed FOLDER: prints whether all traces in it are valid and reproduced by the given structures.
replayed() {
    local files
    files=$(find "$1" -name '*.mqt' | wc -l)
    if [ "$files" -gt 0 ] && "$mq" replay --repeat 1 --structure "${2:-all}" "$1" >"$1.log" 2>&1; then
        echo "$files traces, 0 mismatches"
    else
        echo "$files traces, see $1.log"
    fi
}

# timed PART: runs a part of a test and records how long it took.
timed() {
    local start=$SECONDS
    "$1"
    took+=("$1 $((SECONDS - start)) s")
}
took=()

# mpi4py's own suite: prints its last line, which tests failed, and how it ended, on WHICH with a launcher.
mpi4py_version=4.1.2
mpi4py_suite() { # WHICH SECONDS LAUNCHER...
    local which=$1 seconds=$2 log=$work/mpi4py-$1.log status=0
    shift 2
    (cd "$work/mpi4py" && with "$which" limited "$seconds" "$@" -n 3 "$work/venv/bin/python" \
        test/main.py -e spawn -e dynproc -e io) >"$log" 2>&1 || status=$?
    local ran failures
    ran=$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' "$log" | sort -u | tr '\n' ' ')
    failures=$(sed -n 's/^\(FAIL\|ERROR\): \([^ ]*\) .*/\2/p' "$log" | sort -u | tr '\n' ' ')
    echo "${ran:-none }ran; failed: ${failures:-none }; ended with $status" | sed 's/  *;/;/'
}
prepare_mpi4py() {
    [ "$(cat "$work/venv/ready" 2>/dev/null)" = "$mpi4py_version" ] && return
    rm -rf "$work/venv"
    # Not optimised: compiling would take minutes, and the library below it is what is tested.
    say "mpi4py $mpi4py_version, built with stock"
    logged "$work/mpi4py.log" python3 -m venv "$work/venv"
    logged "$work/mpi4py.log" "$work/venv/bin/pip" install --quiet setuptools wheel cython
    (cd "$work" && with stock logged "$work/mpi4py.log" "$work/venv/bin/pip" download --quiet \
        --no-binary :all: --no-deps "mpi4py==$mpi4py_version")
    unpack "$work/mpi4py-$mpi4py_version.tar.gz" "$work/mpi4py"
    with stock logged "$work/mpi4py.log" env MPICC="$work/stock/bin/mpicc" CFLAGS="-O0 -g0" \
        "$work/venv/bin/pip" install --quiet "$work/mpi4py-$mpi4py_version.tar.gz"
    echo "$mpi4py_version" >"$work/venv/ready"
}

# compile WHICH PROGRAM: integrations/programs/PROGRAM.c with its mpicc.
compile() {
    mkdir -p "$work/programs-$1"
    logged "$work/programs-$1/$2.log" "$work/$1/bin/mpicc" -O2 -Wall -Wextra \
        "$root/integrations/programs/$2.c" -o "$work/programs-$1/$2"
}

# counted PATTERN VARIABLE=VALUE...: prints how many lines of a short ring's output, on ours, match.
counted() {
    local pattern=$1
    shift
    with ours env "$@" "${launch[@]}" -n 3 "$work/programs-ours/ring" 5 2>&1 | grep -c "$pattern" || true
}

# check_variables LIBRARY: checks the effects of MQ_STRUCTURE, MQ_STATS and MQ_BUDGET_ENTRIES; LIBRARY is its name in the table.
check_variables() {
    ours_only "wrong values: a line each, then the default" \
        "$(counted 'rank 0: MQ_[A-Z_]*=[^ ]* is ignored; ' MQ_STRUCTURE=lists MQ_STATS=maybe \
            MQ_TRACE=/dev/null/traces MQ_BUDGET_ENTRIES=few MQ_BUDGET_BYTES=many) lines" "5 lines"
    ours_only "MQ_STATS=1: a table from each rank" \
        "$(counted "match operations in $1" MQ_STATS=1) tables" "3 tables"
    ours_only "MQ_BUDGET_ENTRIES: reported once per rank" \
        "$(counted 'over MQ_BUDGET_ENTRIES' MQ_BUDGET_ENTRIES=5) lines" "3 lines"
}

# check_lengths VARIABLE...: checks the performance variables on queues of known lengths.
check_lengths() {
    local variable
    value_of() { sed -n "s/^$2: //p" "$1-lengths.log"; }
    run stock lengths >/dev/null
    run ours lengths >/dev/null
    for variable; do
        row "variable $variable" "$(value_of stock "$variable")" "$(value_of ours "$variable")"
    done
}

# below PROCESS: prints its descendants.
below() {
    local child
    for child in $(pgrep -P "$1"); do
        echo "$child"
        below "$child"
    done
}

# Checks that traces are complete although a tool's MPI_T is in use until the processes end.
check_tools() {
    export MQ_TRACE=$scratch/trace-tools
    run ours tools >/dev/null
    ours_only "MQ_TRACE: tools" "$(replayed "$MQ_TRACE"), $(grep -l '^p ' "$MQ_TRACE"/*.mqt | wc -l) with receives" \
        "3 traces, 0 mismatches, 3 with receives"
    unset MQ_TRACE
}

# check_killed SECONDS: checks that the traces of processes killed after this time can be read and replayed.
check_killed() {
    local launched rank killed=0
    export MQ_TRACE=$scratch/trace-killed
    with ours timeout 120 "${launch[@]}" -n 3 "$work/programs-ours/ring" 1000000 >killed.log 2>&1 &
    launched=$!
    sleep "$1"
    for rank in $(below $launched); do
        # The launcher may be faster, once it has seen the first one die.
        if [ "$(readlink "/proc/$rank/exe")" = "$work/programs-ours/ring" ] && kill -KILL "$rank" 2>/dev/null; then
            killed=$((killed + 1))
        fi
    done
    wait $launched || true
    [ $killed -gt 0 ] || die "no process of ring was found to be killed"
    ours_only "MQ_TRACE: after SIGKILL" "$(replayed "$MQ_TRACE" list,indexed)" "3 traces, 0 mismatches"
    unset MQ_TRACE
}
