# For sh, read by the scripts that hold instruction counts: counts of two compilers are not to be compared.

# use_compiler_of BASELINE: what is built from now on is built with the compiler that a baseline names.
use_compiler_of() {
    wanted=$(sed -n 's/^# compilers*: rustc \([^; ]*\).*/\1/p' "$1")
    case $(rustc --version) in
    "rustc $wanted "*) return ;;
    esac
    rustup run "$wanted" rustc --version >/dev/null 2>&1 || rustup toolchain install "$wanted" --profile minimal || {
        echo "$0: $1 is of rustc $wanted, which cannot be installed; this is $(rustc --version)." >&2
        exit 1
    }
    export RUSTUP_TOOLCHAIN="$wanted"
    case $(rustc --version) in
    "rustc $wanted "*) ;;
    *)
        echo "$0: $1 is of rustc $wanted, and \`rustc\` is not rustup's here: $(rustc --version)." >&2
        exit 1
        ;;
    esac
}
