#!/usr/bin/env bash
# Builds MPICH 4.0.2 (ch3:nemesis) twice from Debian's source with the same options: as it is (stock), and
# with its receive queues by libmq (ours). Takes about 8 minutes on two cores.
#
# usage: integrations/mpich/build.sh [--again] [--ours]
#   --again  build both anew, even if they are there
#   --ours   build libmq and the receive queues of ours anew, and nothing else
#
# Everything goes under target/integrations/mpich, or $MQ_INTEGRATIONS_DIR/mpich: stock/ and ours/ are the
# two installations, mq/ is libmq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../common.sh"

version=4.0.2
options=(--with-device=ch3:nemesis --disable-fortran --disable-romio --enable-shared --disable-static
    --enable-debuginfo --with-pm=hydra)

again=no ours=no
for argument; do
    case $argument in
    --again) again=yes ;;
    --ours) ours=yes ;;
    *) die "unknown argument $argument; see the head of $0" ;;
    esac
done

need cargo "cargo (see rustup)"
need make make
need g++ g++
need python3 python3
check_needs
mkdir -p "$work"

prepare() { # WHICH
    [ $again = no ] && [ -d "$work/source-$1" ] && return
    fetch mpich $version-3 bookworm
    say "unpacking $1"
    unpack "$work/mpich_$version.orig.tar.xz" "$work/source-$1"
}

prepare ours
install_libmq
cp "$here/ch3u_recvq.c" "$work/source-ours/src/mpid/ch3/src/ch3u_recvq.c"
if [ $ours = yes ]; then
    [ -d "$work/build-ours" ] || die "ours was not built yet; run $0 without --ours first"
    say "the receive queues of ours"
    logged "$work/again.log" make -C "$work/build-ours" -j"$jobs" install
    exit
fi
if [ $again = yes ] || [ ! -x "$work/stock/bin/mpiexec" ]; then
    prepare stock
    build stock "${options[@]}"
fi
if [ $again = yes ] || [ ! -x "$work/ours/bin/mpiexec" ]; then
    build ours "${options[@]}" CPPFLAGS="-I$work/mq/include" \
        LDFLAGS="-L$work/mq/lib -Wl,-rpath,$work/mq/lib" LIBS=-lmq
fi
"$work/stock/bin/mpichversion" | sed -n '1p;/Device/p'
ldd "$work/ours/lib/libmpi.so" | grep libmq >/dev/null || die "ours does not use libmq"
say "stock: $work/stock; ours: $work/ours"
