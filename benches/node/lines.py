#!/usr/bin/env python3
"""Short messages compared with one cache line, between the same two cores, whatever these happen to be.

The two cores of a virtual machine may be threads of one core at one time and far apart at another: a line takes 25 ns
one way, or 150. So a line is measured immediately before and after the messages; rounds in which the two differ too
much are left out (--steady), and the others are grouped by the time of the line. Prints the medians of each group, and
of the ratios of its rounds. Needs a C compiler, for line.c.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

SIZES = [0, 8, 128]
# The groups of rounds, by the longest one-way time of a line in ns.
GROUPS = [("up to 40 ns: two threads of one core, by all signs", 40), ("40 to 100 ns", 100), ("100 ns and more", float("inf"))]
# The most lines that the first two sizes should take.
GOAL = 1.5


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mq", default="target/release/mq", metavar="PATH", help="the program (%(default)s)")
    parser.add_argument("--rounds", type=int, default=60, metavar="N", help="(%(default)s)")
    parser.add_argument("--samples", type=int, default=9, metavar="N", help="per row in each round (%(default)s)")
    parser.add_argument("--block", type=int, default=1000, metavar="MICROS", help="approximate length of a sample (%(default)s)")
    parser.add_argument("--steady", type=float, default=1.25, metavar="RATIO", help="rounds in which the line has changed more "
                        "are left out (%(default)s)")
    parser.add_argument("--timeout", type=int, default=120, metavar="SECONDS", help="per run (%(default)s)")
    options = parser.parse_args()
    if options.rounds < 1 or options.samples < 1:
        parser.error("at least one round of one sample is needed")
    if not os.access(options.mq, os.X_OK):
        parser.error(f"{options.mq} is not an executable program; `cargo build --release -p mq-cli` builds target/release/mq")
    return options


def rows(options, command):
    """The output of a program, run without switches of ours."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("MQ_")}
    done = subprocess.run(command, env=known, capture_output=True, text=True, timeout=options.timeout, check=False)
    if done.returncode != 0:
        sys.exit(f"lines.py: {' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def build(directory):
    program = os.path.join(directory, "line")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "line.c")
    compiler = os.environ.get("CC", "cc")
    try:
        subprocess.run([compiler, "-std=c99", "-O2", source, "-o", program], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"lines.py: {compiler} does not compile line.c: {error}")
    return program


def cores_of(options):
    """The two cores that the messages go between, as `--cores` takes them; the line uses the same."""
    found = rows(options, [options.mq, "pingpong", "--sizes", "0", "--samples", "1", "--block", "1", "--format", "json"])
    return ",".join(map(str, found[0]["cores"]))


def one_round(options, program, cores):
    """The time of a line before and after, and of each message in between."""
    line = [program, "--only", "line", "--samples", str(options.samples), "--rounds", "3000", "--json", "--cores", cores]
    messages = [options.mq, "pingpong", "--sizes", ",".join(map(str, SIZES)), "--samples", str(options.samples),
                "--block", str(options.block), "--format", "json", "--cores", cores]
    before, between, after = rows(options, line), rows(options, messages), rows(options, line)
    of_lines = [{row["lines"]: row["ns"] for row in found} for found in (before, after)]
    return of_lines[0], {row["size"]: row["ns"] for row in between}, of_lines[1]


def is_steady(options, before, after):
    return max(before[1], after[1]) <= options.steady * min(before[1], after[1])


def median(figures):
    return f"{statistics.median(figures):,.3g}"


def main():
    options = parsed()
    with tempfile.TemporaryDirectory() as directory:
        program, cores = build(directory), cores_of(options)
        measured = []
        for turn in range(options.rounds):
            if turn % 10 == 0:
                print(f"round {turn + 1} of {options.rounds}", file=sys.stderr)
            measured.append(one_round(options, program, cores))
    kept = [((before[1] + after[1]) / 2, (before[2] + after[2]) / 2, messages)
            for before, messages, after in measured if is_steady(options, before, after)]
    print(f"{len(kept)} of {options.rounds} rounds in which a line took as long before as after.\n")
    sizes = [f"{size} bytes | / line" for size in SIZES]
    print(f"| a line | rounds | 1 line | 2 lines | {' | '.join(sizes)} | 0 and 8 bytes at most {GOAL} lines |")
    print(f"| --- | {' | '.join(['---:'] * (3 + 2 * len(SIZES)))} | --- |")
    least = 0
    for words, most in GROUPS:
        group = [each for each in kept if least < each[0] <= most]
        least = most
        if not group:
            continue
        cells = [words, str(len(group)), median(one for one, _, _ in group), median(two for _, two, _ in group)]
        ratios = [statistics.median(messages[size] / one for one, _, messages in group) for size in SIZES]
        for size, ratio in zip(SIZES, ratios):
            cells += [median(messages[size] for _, _, messages in group), f"{ratio:.2f}"]
        cells.append("met" if max(ratios[:2]) <= GOAL else "missed")
        print(f"| {' | '.join(cells)} |")
    if not kept:
        sys.exit("lines.py: the machine changed in every round")


if __name__ == "__main__":
    main()
