#!/usr/bin/env bash
# Builds MPICH 4.0.2 twice from Debian's source with the same options: unchanged (stock), and with its receive queues
# replaced by libmq (ours). Takes about 8 minutes on two cores.
#
# usage: integrations/mpich/build.sh [--ch4] [--again] [--ours]
#   --ch4    the device ch4:ofi; without, ch3:nemesis
#   --again  rebuild both, even if they exist
#   --ours   rebuild only libmq and our receive queues (with ch4, all that includes them: most of MPICH)
# Existing builds stay, except libmq and what uses it.
#
# Everything goes into target/integrations/mpich, or mpich-ch4, or such folders in $MQ_INTEGRATIONS_DIR: stock/ and
# ours/ are the two installations, mq/ is libmq. MQ_CONFIGURE may hold further options of configure: --enable-fortran
# for programs in Fortran.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../common.sh"
parse "ch4 again ours" "" "$@"
[ "$again$ours" != yesyes ] || die "--again rebuilds both builds, --ours only one; choose"

release=4.0.2-3 suite=bookworm
if [ "$ch4" = yes ]; then
    work=$work-ch4
    # Not ch4:ucx, which by default leaves shared memory to UCX too. The engine for datatypes that ch4 has by default,
    # yaksa, takes longer to compile than all the rest.
    options=(--with-device=ch4:ofi --with-libfabric=/usr --with-datatype-engine=dataloop --disable-fortran --disable-romio
        --enable-shared --disable-static --with-pm=hydra)
    queues=(mpidig_recvq.h mpidig_recvq.c)
    into=src/mpid/ch4/src
    need patch patch
    need_header rdma/fabric.h libfabric-dev
    # MPICH links with all that libfabric was built with, which differs by processor.
    needs_library() { pkg-config --static --libs libfabric 2>/dev/null | grep -e "$1" >/dev/null; }
    ! needs_library -lpsm_infinipath || need_header psm.h libpsm-infinipath1-dev
    ! needs_library -lpsm2 || need_header psm2.h libpsm2-dev
    ! needs_library -lrdmacm || need_header rdma/rdma_cma.h librdmacm-dev
else
    options=(--with-device=ch3:nemesis --disable-fortran --disable-romio --enable-shared --disable-static
        --enable-debuginfo --with-pm=hydra)
    queues=(ch3u_recvq.c)
    into=src/mpid/ch3/src
fi

need cargo "cargo (see rustup)"
need make make
need g++ g++
need python3 python3
check_needs
mkdir -p "$work" "$archives"

# Puts our receive queues into source-ours. What has not changed keeps its date, so that nothing is compiled again.
put_queues() {
    local source=$work/source-ours file
    if [ "$ch4" = yes ] && ! cmp -s "$here/ch4_comm.patch" "$source/.patched"; then
        # A changed patch, or one that was interrupted, needs the original source.
        if [ -f "$source/.patched" ]; then
            rm -rf "$source"
            prepare ours
        fi
        touch "$source/.patched"
        logged "$work/patch.log" patch -N -d "$source" -p1 -i "$here/ch4_comm.patch"
        touch "$source/$into/ch4_comm.c"
        cp "$here/ch4_comm.patch" "$source/.patched"
    fi
    for file in "${queues[@]}" mq_envelopes.h mq_contexts.h; do
        cmp -s "$here/$file" "$source/$into/$file" || cp "$here/$file" "$source/$into/$file"
    done
}

prepare ours
install_libmq
put_queues
if [ "$ours" = no ] && ! built stock; then
    prepare stock
    build stock "${options[@]}"
fi
if built ours; then
    say "the receive queues of ours"
    logged "$work/again.log" make -C "$work/build-ours" -j"$jobs" install
elif [ "$ours" = yes ]; then
    die "ours is not built yet; run $0 without --ours first"
else
    build ours "${options[@]}" CPPFLAGS="-I$work/mq/include" \
        LDFLAGS="-L$work/mq/lib -Wl,-rpath,$work/mq/lib" LIBS=-lmq
fi
[ "$ours" = no ] || exit 0
"$work/stock/bin/mpichversion" | sed -n '1p;/Device/p'
ldd "$work/ours/lib/libmpi.so" | grep libmq >/dev/null || die "ours does not use libmq"
say "stock: $work/stock; ours: $work/ours"
