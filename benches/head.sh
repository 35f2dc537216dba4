#!/bin/sh
# benches/head.sh TITLE COMMAND: the head of a document of measurements: who printed it, where and when.
set -eu
[ $# -eq 2 ] || {
    echo "usage: benches/head.sh TITLE COMMAND" >&2
    exit 2
}
cd "$(dirname "$0")/.."
processor=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | sed -n 1p)
commit=$(git rev-parse --short HEAD 2>/dev/null) || commit=unknown
# Changes to what is measured, that is: the document itself may be in the middle of being written.
changed=$(git status --porcelain --untracked-files=no -- Cargo.toml Cargo.lock crates benches traces ci 2>/dev/null) || changed=
[ -z "$changed" ] || commit="$commit-dirty"
# Processor names in virtual machines say little.
kind=$(awk -F': *' '/^cpu family|^model[^ n]*[ \t]*:|^stepping/ && !seen[$1]++ { printf "%s%s", sep, $2; sep = "-" }' /proc/cpuinfo 2>/dev/null)
c=$(cc --version 2>/dev/null) || c=none
cat <<TEXT
# $1

Printed by \`$2\`, not written by hand; [results.md](../results.md) says what stands out. Times are comparable
within a table, not across tables or machines; instruction counts do not depend on the machine's load.

| | |
| --- | --- |
| processor | ${processor:-unknown}, family, model and stepping ${kind:-unknown}, $(getconf _NPROCESSORS_ONLN 2>/dev/null || echo unknown) cores |
| system | $(uname -srm) |
| compiler | $(rustc --version); C: $(echo "$c" | sed -n 1p) |
| instructions counted by | $(valgrind --version 2>/dev/null || echo "no valgrind") |
| commit | $commit |
| date | $(date +%Y-%m-%d) |
| load when it began | $(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null || echo unknown) |
TEXT
