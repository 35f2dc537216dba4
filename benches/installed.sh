# Shared by the scripts that compare MPI libraries which are installed in folders of their own. Sourced; `die` is theirs.

# kind ARGUMENT PREFIX: prints openmpi or mpich.
kind() {
    local tool version
    for tool in mpicc mpirun; do
        [ -x "$2/bin/$tool" ] || die "$1: $2/bin/$tool does not exist or is not executable"
    done
    version=$(with_prefix "$2" "$2/bin/mpirun" --version 2>&1) || true
    case "$version" in
    *"Open MPI"* | *OpenRTE* | *PRRTE*) echo openmpi ;;
    *HYDRA* | *MPICH*) echo mpich ;;
    *)
        [ -x "$2/bin/ompi_info" ] || die "$1: $2/bin/mpirun is neither Open MPI's nor MPICH's: $version"
        echo openmpi
        ;;
    esac
}

# with_prefix PREFIX COMMAND...: runs a command, in a subshell, in the environment of an installed library. The caller's
# settings for mq or for another installation do not reach it.
with_prefix() {
    local prefix=$1 folder configured
    shift
    unset "${!MQ_@}" OPAL_PREFIX PMIX_PREFIX PRTE_PREFIX
    for folder in "$prefix/lib64" "$prefix/lib"; do
        [ ! -d "$folder" ] || LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    done
    export PATH="$prefix/bin:$PATH" LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # An Open MPI that was moved after its installation needs this.
    if [ -d "$prefix/share/openmpi" ] && [ -x "$prefix/bin/ompi_info" ]; then
        configured=$("$prefix/bin/ompi_info" --parsable --path prefix 2>/dev/null | sed -n 's/^path:prefix://p')
        if [ "$configured" != "$prefix" ]; then
            export OPAL_PREFIX=$prefix
            [ ! -d "$prefix/share/pmix" ] || export PMIX_PREFIX=$prefix
            [ ! -d "$prefix/share/prte" ] || export PRTE_PREFIX=$prefix
        fi
    fi
    "$@"
}
