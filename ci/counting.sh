# For sh, sourced by the scripts that count instructions and hold the counts to a baseline. `self` is the script's name,
# and `usage` prints its help.

complain() {
    echo "$self: $*" >&2
}

wrong_usage() {
    usage >&2
    exit 2
}

# parse_action ARGUMENT...: sets `action` to table, check or write, `reason` if it is write, and `used` to how many
# arguments that took.
parse_action() {
    action=table reason='' used=0
    case "${1:-}" in
    -h | --help)
        usage
        exit 0
        ;;
    --check) action=check used=1 ;;
    --write)
        [ -n "${2:-}" ] || wrong_usage
        action=write reason=$2 used=2
        ;;
    -*) wrong_usage ;;
    esac
}

# need COMMAND...: ends the script if one is missing.
need() {
    for command; do
        command -v "$command" >/dev/null || {
            complain "$command is not installed (apt-get install $command)."
            exit 1
        }
    done
}

# use_compiler_of BASELINE: later builds use the compiler that a baseline names, since counts of different compilers
# cannot be compared.
use_compiler_of() {
    wanted=$(sed -n 's/^# compilers*: rustc \([^; ]*\).*/\1/p' "$1")
    case $(rustc --version) in
    "rustc $wanted "*) return ;;
    esac
    rustup run "$wanted" rustc --version >/dev/null 2>&1 || rustup toolchain install "$wanted" --profile minimal || {
        complain "$1 is from rustc $wanted, which cannot be installed; this is $(rustc --version)."
        exit 1
    }
    export RUSTUP_TOOLCHAIN="$wanted"
    case $(rustc --version) in
    "rustc $wanted "*) ;;
    *)
        complain "$1 is from rustc $wanted, and \`rustc\` here is not rustup's: $(rustc --version)."
        exit 1
        ;;
    esac
}

compiler() {
    rustc --version | cut -d' ' -f1-2
}

# What else has a part in the counts: the C library, whose functions programs call, and the tool.
counted_with() {
    echo "$(getconf GNU_LIBC_VERSION 2>/dev/null || echo "an unknown C library"), $(valgrind --version)"
}

# instructions COMMAND...: prints the number of machine instructions of one whole run.
instructions() {
    # valgrind also counts a program that fails.
    report=$(timeout 300 valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$@" 2>&1) || {
        echo "$report" >&2
        complain "$* failed under valgrind, or did not end within five minutes."
        return 1
    }
    count=$(echo "$report" | sed -n 's/^.*I *refs: *//p' | tr -d ,)
    [ -n "$count" ] || {
        complain "valgrind printed no line \`I refs\`; see its output: $report"
        return 1
    }
    echo "$count"
}

# each FEWER MORE UNITS: prints what one of so many units takes, rounded, given the counts of two runs.
each() {
    echo $((($2 - $1 + $3 / 2) / $3))
}

# Counts are lines of words that name one, and the number. write_counts BASELINE COMPILERS: stores those on standard
# input with `reason`.
write_counts() {
    {
        echo "# Instructions; $self --check compares with them. Do not edit: --write."
        echo "# $2"
        echo "# reason: $reason"
        cat
    } >"$1"
    echo "wrote $1"
}

# check_counts BASELINE PERCENT [LIMITS]: compares those on standard input, names the ones that differ, and fails if one
# has changed by more. LIMITS are counts that must not be exceeded, separated by semicolons. Ends with a total.
check_counts() {
    awk -v baseline="$1" -v bound="$2" -v limits="${3:-}" -v self="$self" -v with="$(counted_with)" '
        function name_of(line) { sub(/ [^ ]*$/, "", line); return line }
        function number_of(line) { sub(/^.* /, "", line); return line }
        BEGIN {
            while ((getline line < baseline) > 0)
                if (line !~ /^#/) { before[name_of(line)] = number_of(line); wanted++ }
                else if (sub(/^# compilers*: /, "", line)) from = line
            n = split(limits, given, ";")
            for (i = 1; i <= n; i++) most[name_of(given[i])] = number_of(given[i])
        }
        {
            seen++
            name = name_of($0)
            now = number_of($0) + 0
            was = before[name]
            change = was == "" ? 100 : 100 * (now - was) / was
            wrong = change > bound || change < -bound
            if (now != was) {
                printf "%s: %d instructions, the baseline has %s", name, now, was == "" ? "none" : was
                if (was != "") printf " (%+.1f %%)", change
                print wrong ? ": FAILED" : ""
            }
            changed += wrong
            if (name in most && now > most[name]) {
                printf "%s: %d instructions, above the bound of %d: FAILED\n", name, now, most[name]
                above += !wrong
                wrong = 1
            }
            failed += wrong
        }
        END {
            if (seen != wanted) printf "%d counts, but the baseline has %d\n", seen, wanted
            printf "%d passed, %d failed\n", seen - failed, failed + (seen != wanted)
            if (changed) {
                print "A count changed by more than " bound " %. If that is right, rewrite the baseline in the same commit:"
                print "    " self " --write REASON"
            }
            if (above) {
                print "A count is above its bound, but within " bound " % of the baseline: another C library or"
                print "valgrind may be the reason. Here: " with "; the baseline: " from "."
            }
            exit failed > 0 || seen == 0 || seen != wanted
        }'
}
