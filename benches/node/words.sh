#!/bin/sh
# benches/node/words.sh: what the reports say of the libraries that both print, and where their columns are explained.
cat <<'TEXT'

`mpich` is Debian's (ch4); `nemesis` is the same version with ch3:nemesis. Rows and columns:
[benches/node](../../benches/node/README.md#what-is-measured).
TEXT
