#!/usr/bin/env bash
# Every example must run and succeed, built like the tests, with their checks.
set -euo pipefail
cd "$(dirname "$0")/.."
# As the tests build them: one package's features would give another build of everything.
cargo build --quiet --workspace --examples --bins
built=${CARGO_TARGET_DIR:-target}/debug
for source in examples/*.rs; do
    name=$(basename "$source" .rs)
    echo "== $name"
    "$built/examples/$name"
done

echo "== halo, four processes"
"$built/mq" run -n 4 -- "$built/examples/halo" | grep 'heat of 4 processes after 100 steps: 1000.000'

echo "== shared_buffers, eight processes: enough messages for a look at the ring"
said=$("$built/mq" run -n 8 -- "$built/examples/shared_buffers")
echo "$said"
[ "$(grep -c 'came out of shared buffers' <<<"$said")" -eq 8 ]

echo "== particles, four processes"
"$built/mq" run -n 4 -- "$built/examples/particles" | grep '10000 particles, none is lost'

echo "== reduce, four processes, and five"
"$built/mq" run -n 4 -- "$built/examples/reduce" | grep '4 ranks: the sum is 10, the largest is 2, at rank 2'
"$built/mq" run -n 5 -- "$built/examples/reduce" | grep '5 ranks: the sum is 15, the largest is 2, at rank 2'

echo "== square_roots, four processes"
said=$("$built/mq" run -n 4 -- "$built/examples/square_roots" | sort)
echo "$said"
[ "$(grep -c 'from rank [123]$' <<<"$said")" -eq 3 ]

echo "== workers, four processes, of which one fails"
"$built/mq" run -n 4 -- "$built/examples/workers" | grep '20 tasks done, 0 of them twice: 13300'
said=$("$built/mq" run -n 4 --keep-going -- "$built/examples/workers" 2 2>&1) && ended=0 || ended=$?
echo "$said"
[ $ended -ne 0 ]
grep -q '20 tasks done, 1 of them twice: 13300' <<<"$said"
grep -q 'rank 2 .* exited with status 1' <<<"$said"

echo "== survivors, four processes, of which one dies"
said=$("$built/mq" run -n 4 --keep-going -- "$built/examples/survivors" 2 2>&1) && ended=0 || ended=$?
echo "$said"
[ $ended -ne 0 ]
[ "$(grep -c 'step [0-3]: 4 ranks' <<<"$said")" -eq 4 ]
[ "$(grep -c 'step [4-7]: 3 ranks' <<<"$said")" -eq 4 ]
[ "$(grep -c 'rank [013]: 3 are left' <<<"$said")" -eq 3 ]
