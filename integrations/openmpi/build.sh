#!/usr/bin/env bash
# Builds Open MPI 5.0.7 twice from Debian's source with the same options: unchanged (stock), and with the
# matching of pml/ob1 replaced by libmq (ours). Takes about 10 minutes on two cores.
#
# usage: integrations/openmpi/build.sh [--again] [--ours]
#   --again  rebuild both, even if they exist
#   --ours   rebuild only libmq and our matching component
# Existing builds stay, except libmq and what uses it.
#
# Everything goes into target/integrations/openmpi, or $MQ_INTEGRATIONS_DIR/openmpi: stock/ and ours/ are
# the two installations, mq/ is libmq. MQ_CONFIGURE may hold further options of configure: --enable-mpi-fortran for
# programs in Fortran.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../common.sh"
parse "again ours" "" "$@"
[ "$again$ours" != yesyes ] || die "--again rebuilds both builds, --ours only one; choose"

release=5.0.7-1 suite=trixie
options=(--disable-mpi-fortran --disable-oshmem --disable-io-romio --without-ucx --without-ofi
    --with-pmix=internal --with-prrte=internal --with-libevent=external --with-hwloc=external
    --disable-sphinx --enable-mca-dso=pml-ob1)

need cargo "cargo (see rustup)"
need flex flex
need patch patch
need make make
need_header hwloc.h libhwloc-dev
need_header event.h libevent-dev
need_header zlib.h zlib1g-dev
check_needs
mkdir -p "$work"

patch_ours() {
    local source=$work/source-ours
    cmp -s "$here/openmpi-5.0.patch" "$source/.patched" && return
    # A changed patch, or one that was interrupted, needs the original source; make then configures again.
    if [ -f "$source/.patched" ]; then
        rm -rf "$source"
        prepare ours
    fi
    say "patching ours"
    touch "$source/.patched"
    # The patch changes the inputs and outputs of the build system consistently; the dates must not
    # cause it to be regenerated.
    local old=$source/ompi/mca/pml/ob1
    touch -r "$old/configure.m4" "$work/date"
    logged "$work/patch.log" patch -N -d "$source" -p1 -i "$here/openmpi-5.0.patch"
    touch -r "$work/date" "$old/configure.m4" "$old/Makefile.am"
    touch -r "$source/aclocal.m4" "$source/configure"
    touch "$source/configure" "$old/Makefile.in"
    cp "$here/openmpi-5.0.patch" "$source/.patched"
}

prepare ours
install_libmq
patch_ours
cp "$here/pml_ob1_custom_match_mq.h" "$work/source-ours/ompi/mca/pml/ob1/custommatch/"
if [ "$ours" = no ] && ! built stock; then
    prepare stock
    build stock "${options[@]}"
fi
if built ours; then
    component=$work/build-ours/ompi/mca/pml/ob1
    say "the matching component of ours"
    logged "$work/component.log" make -C "$component" clean
    logged "$work/component.log" make -C "$component" -j"$jobs" install
elif [ "$ours" = yes ]; then
    die "ours is not built yet; run $0 without --ours first"
else
    build ours "${options[@]}" --with-pml-ob1-matching=mq CPPFLAGS="-I$work/mq/include" \
        LDFLAGS="-L$work/mq/lib -Wl,-rpath,$work/mq/lib"
fi
[ "$ours" = no ] || exit 0
"$work/stock/bin/ompi_info" --version | sed -n 1p
ldd "$work/ours/lib/openmpi/mca_pml_ob1.so" | grep libmq >/dev/null || die "ours does not use libmq"
say "stock: $work/stock; ours: $work/ours"
