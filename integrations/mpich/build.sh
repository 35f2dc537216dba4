#!/usr/bin/env bash
# Builds MPICH 4.0.2 (ch3:nemesis) twice from Debian's source with the same options: unchanged (stock), and
# with its receive queues replaced by libmq (ours). Takes about 8 minutes on two cores.
#
# usage: integrations/mpich/build.sh [--again] [--ours]
#   --again  rebuild both, even if they exist
#   --ours   rebuild only libmq and our receive queues
# Existing builds stay, except libmq and what uses it.
#
# Everything goes into target/integrations/mpich, or $MQ_INTEGRATIONS_DIR/mpich: stock/ and ours/ are the
# two installations, mq/ is libmq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../common.sh"
parse "again ours" "" "$@"

release=4.0.2-3 suite=bookworm
options=(--with-device=ch3:nemesis --disable-fortran --disable-romio --enable-shared --disable-static
    --enable-debuginfo --with-pm=hydra)

need cargo "cargo (see rustup)"
need make make
need g++ g++
need python3 python3
check_needs
mkdir -p "$work"

prepare ours
install_libmq
cp "$here/ch3u_recvq.c" "$work/source-ours/src/mpid/ch3/src/ch3u_recvq.c"
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
