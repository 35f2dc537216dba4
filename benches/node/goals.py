#!/usr/bin/env python3
"""The goals for messages between processes, and what `compare.sh` has measured: a Markdown table.

Reads the output of `tabulate.py ROWS --format json` from standard input. A goal over several rows is met if all of them
meet it, and the row furthest from it is shown. Goals whose rows were not measured are left out.
"""

import argparse
import json
import sys

# The comparison in words; the mode and selection of its rows; at most or at least how much of the fastest library.
GOALS = [
    ("0 and 8 bytes one way, against the fastest library", "pingpong", lambda row: row["size"] in (0, 8), "most", 0.7),
    ("128 bytes one way, against the fastest library", "pingpong", lambda row: row["size"] == 128, "most", 0.8),
    ("bandwidth from 16 KiB to 4 MiB in windows, against the fastest library", "bandwidth",
     lambda row: row["by"] == "window", "least", 1.0),
    ("bandwidth from 16 KiB to 4 MiB by ping-pong, against the fastest library", "bandwidth",
     lambda row: row["by"] == "pingpong", "least", 1.0),
    ("the same, each message written before it is sent", "bandwidth", lambda row: row["by"] == "rewritten", "least", 1.0),
    ("messages of 8 bytes a second, one sender, against the fastest library", "rate",
     lambda row: row["senders"] == 1 and row["size"] == 8, "least", 1.5),
    ("halo exchange of four processes, tiles up to 1,000, against the fastest library", "halo",
     lambda row: row["tile"] <= 1000, "most", 1.0),
]


def named(row):
    """A row in words."""
    if row["mode"] == "bandwidth":
        return f"{row['size'] >> 10:,} KiB"
    if row["mode"] == "halo":
        return f"tile {row['tile']:,}"
    return f"{row['size']:,} bytes"


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    try:
        rows = json.load(sys.stdin)["rows"]
    except (ValueError, KeyError, TypeError) as error:
        sys.exit(f"goals.py: standard input is not the output of `tabulate.py ROWS --format json` ({error})")
    print("| ours | goal | measured | met |")
    print("| --- | ---: | ---: | --- |")
    measured = 0
    for words, mode, wanted, sense, bound in GOALS:
        of = [(row["to_fastest"].get("ours"), row) for row in rows if row["mode"] == mode and wanted(row)]
        of = [(value, row) for value, row in of if value is not None]
        if not of:
            continue
        measured += 1
        at_most = sense == "most"
        missed = [row for value, row in of if (value > bound if at_most else value < bound)]
        worst, at = (max if at_most else min)(of, key=lambda pair: pair[0])
        verdict = f"missed: {', '.join(named(row) for row in missed)}" if missed else "met"
        print(f"| {words} | at {sense} {bound} | {worst:.2f} ({named(at)}) | {verdict} |")
    if measured == 0:
        sys.exit("goals.py: standard input has no row of any goal")


main()
