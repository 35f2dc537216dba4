#!/usr/bin/env python3
"""What each path gains: `mq` with all of them, and with each switched off, in turn on the same two cores.

Prints four tables: the switches, with the figures of Buntinas, Mercier and Gropp (2006); the four policies of buffers
for short messages (MQ_POLICY), after the MVAPICH study; eager messages against announced ones (rendezvous), whose
crossover is where MQ_EAGER_LIMIT belongs; and the paths of large messages against memcpy, to one place and to as many
in turn as a window has, and against the kernel's copy alone (with a C compiler, for line.c); there "both" means that
the sender copies a part. A figure is the median over the rounds, a ratio the median
over the rounds of the ratio in each; each round begins with a different contestant.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

EAGER_SIZES = [1 << power for power in range(10, 19)]
LARGE_SIZES = [1 << power for power in range(16, 25, 2)]
# Messages in a window of large ones.
LARGE_WINDOW = 16

# Arguments of `mq` and the row's unit. All sizes of one contestant are measured in one run.
JOBS = {
    "one way": ["pingpong", "--sizes", "0,8,128,584"],
    "rate": ["rate", "--size", "8"],
    "large": ["bandwidth", "--sizes", "65536,262144,1048576,4194304"],
    "ahead": ["bandwidth", "--sizes", "32768,65536"],
    "limit": ["pingpong", "--sizes", ",".join(map(str, EAGER_SIZES))],
    "short": ["pingpong", "--sizes", "0,8,128,1024,4096,16384"],
    "shared": ["bandwidth", "--shared-buffers", "--sizes", "65536,262144,1048576,4194304"],
}

# What `mq bandwidth` measures, in words.
BY = {"window": "window", "pingpong": "ping-pong", "rewritten": "rewritten"}

# All large messages read from the sender's memory, or copied out of its shared buffers: by the receiver only, and with
# a part copied by the sender.
ALONE = {"MQ_SINGLE_COPY_FROM": "0", "MQ_COOPERATIVE_COPY": "0"}
TOGETHER = {"MQ_SINGLE_COPY_FROM": "0"}

# A switch: its name, the variables with it and without it, the jobs that show it, and what the paper says.
SWITCHES = [
    ("bypass", {}, {"MQ_BYPASS": "0"}, ["one way", "rate"], "0 bytes: 341 ns, 403 without (1.18)"),
    ("fastbox", {}, {"MQ_FASTBOX": "0"}, ["one way", "rate"], "no figure"),
    ("messages that go ahead", {"MQ_SINGLE_COPY": "0"}, {"MQ_SINGLE_COPY": "0", "MQ_AHEAD_LIMIT": "0"}, ["ahead"],
     "it has none"),
    ("the quicker of single copy and ring, the ring without it", {}, {"MQ_SINGLE_COPY": "0"}, ["large"], "it has none"),
    ("single copy by the receiver alone, the ring without it", ALONE, {"MQ_SINGLE_COPY": "0"}, ["large"],
     "its double-buffered ring over cells: 1,500 MiB/s, 130 less without (0.91)"),
    ("both sides copy, by way of the kernel", TOGETHER, ALONE, ["large"], "it has none"),
    ("both sides copy, out of shared buffers", TOGETHER, ALONE, ["shared"], "it has none"),
    ("stores past the caches, into the ring", {"MQ_SINGLE_COPY": "0", "MQ_NONTEMPORAL_FROM": "0"},
     {"MQ_SINGLE_COPY": "0", "MQ_NONTEMPORAL_FROM": "1G"}, ["large"], "\"dramatically higher bandwidth\", no figure"),
    ("shared buffers, the default without them", {}, {"MQ_SHARED_COPY": "0"}, ["shared"], "it has none"),
]

# Eager messages; rendezvous that reads the sender's memory, from 64 KiB on with its help; rendezvous through a ring.
WAYS = [
    ("eager", {"MQ_EAGER_LIMIT": "1G"}),
    ("single copy", {"MQ_EAGER_LIMIT": "512", "MQ_SINGLE_COPY_FROM": "0"}),
    ("ring", {"MQ_EAGER_LIMIT": "512", "MQ_SINGLE_COPY": "0"}),
]


POLICIES = ["per-peer", "adaptive+per-peer", "adaptive+shared", "shared"]

# Large messages of one size: through a ring, read from the sender's memory through the kernel, by the receiver only
# and by both, and copied out of shared buffers, likewise. Each is a run of its own, so that those of one size are close
# together in time.
LARGE_WAYS = [
    ([], {"MQ_SINGLE_COPY": "0"}),
    ([], ALONE),
    ([], TOGETHER),
    (["--shared-buffers"], ALONE),
    (["--shared-buffers"], TOGETHER),
]


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mq", default="target/release/mq", metavar="PATH", help="the program (%(default)s)")
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="(%(default)s)")
    parser.add_argument("--samples", type=int, default=15, metavar="N", help="per row in each round (%(default)s)")
    parser.add_argument("--block", type=int, default=1000, metavar="MICROS", help="approximate length of a sample (%(default)s)")
    parser.add_argument("--only", choices=["switches", "policies", "limit", "large"], help="one of the tables")
    parser.add_argument("--switch", default="", metavar="TEXT", help="only the switches whose name contains this")
    parser.add_argument("--patience", metavar="SPINS,YIELDS", help="MQ_PATIENCE for all; a machine with other users takes the "
                        "core from processes that yield")
    parser.add_argument("--timeout", type=int, default=120, metavar="SECONDS", help="per run (%(default)s)")
    options = parser.parse_args()
    if options.rounds < 1 or options.samples < 1:
        parser.error("at least one round of one sample is needed")
    if not any(options.switch in name for name, *_ in SWITCHES):
        parser.error(f"no switch's name contains {options.switch!r}; there are: {', '.join(name for name, *_ in SWITCHES)}")
    if not os.access(options.mq, os.X_OK):
        parser.error(f"{options.mq} is not an executable program; `cargo build --release -p mq-cli` builds target/release/mq")
    return options


def figures(options, job, variables):
    """The figures of one run by row; more is better if the row is a bandwidth or a rate."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("MQ_")}
    command = [options.mq, *JOBS[job], "--format", "json", "--samples", str(options.samples), "--block", str(options.block)]
    if options.patience:
        known["MQ_PATIENCE"] = options.patience
    done = subprocess.run(command, env={**known, **variables}, capture_output=True, text=True, timeout=options.timeout,
                          check=False)
    # A rejected variable causes a warning, and would make both columns the same.
    if done.returncode != 0 or done.stderr:
        sys.exit(f"switches.py: {' '.join(command)} with {variables} ended with {done.returncode}:\n{done.stderr}")
    found = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        if row["mode"] == "pingpong":
            found[f"{row['size']:,} bytes one way, ns"] = row["ns"]
        elif row["mode"] == "rate":
            found["8 bytes, million a second"] = row["per_s"] / 1e6
        elif row["mode"] == "bandwidth":
            found[f"{row['size'] >> 10:,} KiB, {BY[row['by']]}, GB/s"] = row["gb_s"]
    if not found:
        sys.exit(f"switches.py: {' '.join(command)} printed no row")
    return found


def measured(options, contests):
    """The figures of each contest (a job and a set of variables) by row, one per round."""
    results = {contest: {} for contest in contests}
    for turn in range(options.rounds):
        print(f"round {turn + 1} of {options.rounds}", file=sys.stderr)
        first = turn % len(contests)
        for job, variables in contests[first:] + contests[:first]:
            for row, figure in figures(options, job, dict(variables)).items():
                results[job, variables].setdefault(row, []).append(figure)
    return results


def shown(figure):
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def ratio(ours, others):
    return statistics.median(one / other for one, other in zip(ours, others))


def fixed(variables):
    return tuple(sorted(variables.items()))


def switches(options):
    chosen = [switch for switch in SWITCHES if options.switch in switch[0]]
    contests = {(job, fixed(variables)) for _, on, off, jobs, _ in chosen for job in jobs for variables in (on, off)}
    results = measured(options, sorted(contests))
    print("| switch | measured | on | off | off / on | the paper |")
    print("| --- | --- | ---: | ---: | ---: | --- |")
    for name, on, off, jobs, paper in chosen:
        for job in jobs:
            for row, with_it in results[job, fixed(on)].items():
                without = results[job, fixed(off)][row]
                cells = [name, row, *(shown(statistics.median(of)) for of in (with_it, without))]
                print(f"| {' | '.join(cells)} | {ratio(without, with_it):.2f} | {paper} |")
                paper = ""


def policies(options):
    contests = [(job, fixed({"MQ_POLICY": policy})) for job in ("short", "rate") for policy in POLICIES]
    results = measured(options, contests)
    print(f"| | {' | '.join(POLICIES)} | shared / adaptive+shared |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for job in ("short", "rate"):
        of = [results[job, fixed({"MQ_POLICY": policy})] for policy in POLICIES]
        for row in of[0]:
            cells = [row, *(shown(statistics.median(each[row])) for each in of), f"{ratio(of[3][row], of[2][row]):.2f}"]
            print(f"| {' | '.join(cells)} |")


def limit(options):
    results = measured(options, [("limit", fixed(variables)) for _, variables in WAYS])
    print("| one way, ns | eager | single copy | ring | single copy / eager | ring / eager |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    eager, copy, ring = (results["limit", fixed(variables)] for _, variables in WAYS)
    for row in eager:
        cells = [row.removesuffix(" one way, ns"), *(shown(statistics.median(of[row])) for of in (eager, copy, ring))]
        print(f"| {' | '.join(cells)} | {ratio(copy[row], eager[row]):.2f} | {ratio(ring[row], eager[row]):.2f} |")


def compiled(folder):
    """The program of bare copies."""
    program = os.path.join(folder, "line")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "line.c")
    subprocess.run(["cc", "-std=c99", "-O2", source, "-o", program], check=True)
    return program


def copies(options, program):
    """GB/s of memcpy in the caches of one core, by row: to one place, and to as many in turn as a window has; and of
    process_vm_readv, if the system allows it."""
    command = [program, "--only", "memcpy,kernel", "--window", str(LARGE_WINDOW), "--json", "--samples", str(options.samples)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout, check=True)
    rows = map(json.loads, done.stdout.splitlines())
    return {(row["source"], row["size"]): row["gb_s"] for row in rows}


def large(options):
    bare, results = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(folder)
        for turn in range(options.rounds):
            print(f"round {turn + 1} of {options.rounds}", file=sys.stderr)
            for row, figure in copies(options, program).items():
                bare.setdefault(row, []).append(figure)
            for size in LARGE_SIZES:
                for step in range(len(LARGE_WAYS)):
                    way = (turn + step) % len(LARGE_WAYS)
                    flags, variables = LARGE_WAYS[way]
                    JOBS["large messages"] = ["bandwidth", "--window", str(LARGE_WINDOW), "--sizes", str(size), *flags]
                    for row, figure in figures(options, "large messages", variables).items():
                        results.setdefault((way, row), []).append(figure)
    print("| GB/s | by | memcpy | in turns | the kernel alone | ring | kernel | kernel, both | shared buffer | shared buffer, both "
          "| kernel / the kernel alone | kernel, both / memcpy | shared buffer, both / memcpy | the better / in turns |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for by in BY.values():
        for size in LARGE_SIZES:
            row = f"{size >> 10:,} KiB, {by}, GB/s"
            of = [results[way, row] for way in range(len(LARGE_WAYS))]
            # A ping-pong has one place to receive into.
            turns = bare["turns", size] if by == "window" else None
            kernel = bare.get(("kernel", size))
            cells = [f"{size >> 10:,} KiB", f"window of {LARGE_WINDOW}" if by == "window" else by]
            cells += [shown(statistics.median(each)) if each else "" for each in (bare["own", size], turns, kernel, *of)]
            # The bare copies are of data that was written once.
            if by == "rewritten":
                kernel = None
            cells += [f"{ratio(of[1], kernel):.2f}" if kernel else ""]
            cells += ["" if by == "rewritten" else f"{ratio(of[each], bare['own', size]):.2f}" for each in (2, 4)]
            cells += [f"{max(ratio(of[each], turns) for each in (2, 4)):.2f}" if turns else ""]
            print(f"| {' | '.join(cells)} |")


def main():
    options = parsed()
    tables = {"switches": switches, "policies": policies, "limit": limit, "large": large}
    for at, table in enumerate([options.only] if options.only else tables):
        if at > 0:
            print()
        tables[table](options)


main()
