# What the integrations' scripts share. Sourced, with `here` set to the integration's folder.

root=$(cd "$here/../.." && pwd)
name=$(basename "$here")
work=${MQ_INTEGRATIONS_DIR:-$root/target/integrations}/$name
jobs=$(nproc)

say() { echo "== $*"; }

die() {
    echo "integrations/$name: $*" >&2
    exit 1
}

# need COMMAND PACKAGE...: all that is missing is named at once, by check_needs.
missing=()
need() {
    command -v "$1" >/dev/null || missing+=("$2")
}
need_header() { # HEADER PACKAGE
    printf '#include <%s>\n' "$1" | cc -E -x c - >/dev/null 2>&1 || missing+=("$2")
}
check_needs() {
    [ ${#missing[@]} -eq 0 ] || die "missing packages; install them first: apt-get install ${missing[*]}"
}

# The Debian mirror that this machine uses.
mirror() {
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
        awk '$2 !~ /security/ && $1 ~ /debian/ { print $1; exit }'
}

# fetch SOURCE VERSION SUITE: the orig archive of a Debian source package, in $work. apt works in folders of
# its own, so that the machine's configuration stays as it is; it checks the archive against the suite's
# signature.
fetch() {
    local orig=$work/$1_${2%-*}.orig.tar.xz from
    [ -f "$orig" ] && return
    from=$(mirror)
    [ -n "$from" ] || die "apt knows no Debian mirror; put $(basename "$orig") into $work by hand"
    say "fetching $1 $2 from Debian $3"
    local apt=$work/apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    printf 'deb-src [signed-by=%s] %s %s main\n' \
        /usr/share/keyrings/debian-archive-keyring.gpg "$from" "$3" >"$apt/sources.list"
    local options=(-o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=)
    apt-get "${options[@]}" update -qq || die "apt cannot read the sources of Debian $3"
    (cd "$work" && apt-get "${options[@]}" source -qq --download-only "$1=$2") ||
        die "apt cannot fetch the source of $1 $2"
    [ -f "$orig" ] || die "the source of $1 $2 came without $(basename "$orig")"
}

# unpack ARCHIVE FOLDER
unpack() {
    rm -rf "$2"
    mkdir -p "$2"
    tar -xf "$1" -C "$2" --strip-components=1
}

# logged FILE COMMAND...: output into a log, whose end is shown if the command fails.
logged() {
    local log=$1
    shift
    if ! "$@" >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        die "failed: $* (the whole output is in $log)"
    fi
}

# libmq, installed where the patched library will find it.
install_libmq() {
    say "libmq"
    logged "$work/libmq.log" make -C "$root/crates/mq-ffi" install PREFIX="$work/mq" \
        TARGET="${CARGO_TARGET_DIR:-$root/target}"
}

# build WHICH CONFIGURE-OPTIONS...: configures, builds and installs source-WHICH into WHICH, once.
build() {
    local which=$1
    shift
    mkdir -p "$work/build-$which"
    cd "$work/build-$which"
    local start=$SECONDS
    say "configuring $which"
    logged configure.log "../source-$which/configure" --prefix="$work/$which" "$@"
    say "building $which"
    logged make.log make -j"$jobs"
    logged install.log make install
    say "$which: $((SECONDS - start)) s, in $work/$which"
}
