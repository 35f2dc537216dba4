#!/usr/bin/env bash
# The tests of the engine, the C interface, the transport and the message layer on another architecture: compiled here
# for 64-bit ARM, and run under a Linux kernel of its own in an emulated machine of two cores, the kill tests included.
# Slow, and not part of .ci/run. Needs root on a Debian machine: it installs a cross compiler and QEMU, and fetches
# Debian's ARM kernel. (Traces and `mq` depend on neither, and their tests want tools that the machine lacks.)
#
#   ci/aarch64.sh             everything
#   ci/aarch64.sh order ways  only the test programs of these names
#
# An emulator on x86-64 orders memory as its host does, so this finds no missing barrier: the models of ci/loom.sh do.
# It finds what depends on the processor and the kernel otherwise: other ways to copy, sizes and calls of the system.
# SECONDS_EACH (3000) limits each test program, MEMORY (6G) the machine.
set -euo pipefail
case "${1:-}" in -*)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    [ "$1" = --help ] || exit 2
    exit
    ;;
esac >&2
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
mkdir -p "${CARGO_TARGET_DIR:-target}/aarch64"
work=$(cd "${CARGO_TARGET_DIR:-target}/aarch64" && pwd)

need() { # COMMAND PACKAGES...
    command -v "$1" >/dev/null && return
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "${@:2}"
}
need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross
need qemu-system-aarch64 qemu-system-arm
need cpio cpio
need python3 python3
grep -qx $target <<<"$(rustup target list --installed)" || rustup target add $target

# fetch PACKAGES...: Debian's packages for ARM, unpacked, without making this machine one that knows that architecture.
fetch() {
    local apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$work/apt"
        -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt/cache" -o APT::Sandbox::User=root)
    rm -rf "$work/apt" "$work/debian"
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/debian"
    : >"$work/apt/status"
    "${apt[@]}" update
    "${apt[@]}" install -y --no-install-recommends --download-only "$@"
    local deb
    for deb in "$work"/apt/cache/archives/*.deb; do
        case "$deb" in */linux-image* | */busybox*) dpkg -x "$deb" "$work/debian" ;; esac
    done
}
kernel() { find "$work/debian/boot" -name 'vmlinuz-*' 2>/dev/null | head -n 1; }
[ -n "$(kernel)" ] || fetch linux-image-cloud-arm64 busybox-static
[ -n "$(kernel)" ] || { echo "ci/aarch64.sh: no kernel in what Debian gave" >&2 && exit 1; }

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc CARGO_INCREMENTAL=0
packages=(-p mq-core -p mq-shm -p mq-comm -p mq-ffi)
cargo test "${packages[@]}" --features mq-shm/_steps,mq-comm/_steps --lib --bins --tests --no-run --target $target \
    --message-format=json-render-diagnostics >"$work/built.json"

# The machine's files: this checkout and what was built in it, each at its own path, and what a shell needs.
files=$work/files
rm -rf "$files"
mkdir -p "$files"/{bin,dev,etc,lib,proc,root,sys,tmp,"$PWD"}
cp "$work/debian/bin/busybox" "$files/bin/"
for library in ld-linux-aarch64.so.1 libc.so.6 libm.so.6 libgcc_s.so.1; do
    cp -L "$(aarch64-linux-gnu-gcc -print-file-name=$library)" "$files/lib/"
done
git ls-files -z | cpio --quiet -0 -pdm "$files/$PWD"
python3 - "$work/built.json" "$@" >"$work/programs" <<'P'
import json, os, re, sys
wanted = sys.argv[2:]
unknown = set(wanted)
for line in open(sys.argv[1]):
    built = json.loads(line)
    program = built.get("executable")
    if program:
        name = re.sub("-[0-9a-f]{16}$", "", os.path.basename(program))
        is_run = built["profile"]["test"] and (not wanted or name in wanted)
        print("run" if is_run else "keep", program, os.path.dirname(built["manifest_path"]), sep="\t")
        if is_run:
            unknown.discard(name)
if unknown:
    sys.exit("ci/aarch64.sh: no test program is named " + ", ".join(sorted(unknown)))
P
while IFS=$'\t' read -r _ program _; do
    mkdir -p "$files/$(dirname "$program")"
    aarch64-linux-gnu-strip -o "$files/$program" "$program"
done <"$work/programs"
cp "$work/programs" "$files/programs"

tmp='mount -t tmpfs tmp /tmp'
# A file system there would hide a checkout that lies there.
case "$PWD" in /tmp/*) tmp= ;; esac

cat >"$files/init" <<I
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root MQ_KILL_SECONDS=5 MQ_SLOWER=5
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /var/tmp
mount -t tmpfs shm /dev/shm
$tmp
echo root:x:0:0:root:/root:/bin/sh >/etc/passwd
ip link set lo up
ulimit -n 65536
echo "== \$(uname -srm), \$(nproc) cores"
tab=\$(printf '\\t')
while IFS=\$tab read -r what program place; do
    [ \$what = run ] || continue
    echo "== \${program##*/}"
    cd "\$place" && timeout ${SECONDS_EACH:-3000} "\$program" </dev/null 2>&1
    status=\$?
    [ \$status = 0 ] || echo "== \${program##*/} FAILED with status \$status"
done </programs
echo "== all have run"
poweroff -f
I
chmod +x "$files/init"
(cd "$files" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -1) >"$work/files.gz"

log=$work/log
qemu-system-aarch64 -machine virt -cpu max,pauth-impdef=on -smp 2 -m "${MEMORY:-6G}" -nographic -nic none -no-reboot \
    -kernel "$(kernel)" -initrd "$work/files.gz" -append "console=ttyAMA0 quiet panic=-1" </dev/null |
    sed -u 's|\r$||' | tee "$log" | grep --line-buffered -E '^== |^test result|FAILED|panicked|was not tried'

passed=$(sed -n 's/^test result: .* \([0-9]*\) passed.*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
failed=$(sed -n 's/^test result: .* \([0-9]*\) failed.*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
echo "aarch64: $passed passed, $failed failed; all of it is in $log"
grep -q '^== all have run' "$log" || { echo "ci/aarch64.sh: the machine stopped before the end" >&2 && exit 1; }
[ "$passed" -gt 0 ] || { echo "ci/aarch64.sh: no test has run" >&2 && exit 1; }
! grep -q '^== .* FAILED' "$log"
