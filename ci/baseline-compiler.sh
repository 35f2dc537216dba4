# For sh, sourced by the scripts that check instruction counts: counts of different compilers cannot be compared.

# use_compiler_of BASELINE: later builds use the compiler that a baseline names.
use_compiler_of() {
    wanted=$(sed -n 's/^# compilers*: rustc \([^; ]*\).*/\1/p' "$1")
    case $(rustc --version) in
    "rustc $wanted "*) return ;;
    esac
    rustup run "$wanted" rustc --version >/dev/null 2>&1 || rustup toolchain install "$wanted" --profile minimal || {
        echo "$0: $1 is from rustc $wanted, which cannot be installed; this is $(rustc --version)." >&2
        exit 1
    }
    export RUSTUP_TOOLCHAIN="$wanted"
    case $(rustc --version) in
    "rustc $wanted "*) ;;
    *)
        echo "$0: $1 is from rustc $wanted, and \`rustc\` here is not rustup's: $(rustc --version)." >&2
        exit 1
        ;;
    esac
}
