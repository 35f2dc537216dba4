#!/usr/bin/env python3
"""What a flood of unexpected messages takes of its receiver's memory: ours and MPI libraries.

Rank 1 sends as fast as it can to rank 0, which waits for some seconds for rank 2 (flood.c and
crates/mq-comm/examples/flood.rs), and then receives everything. Prints a table of the memory that rank 0 had taken by
the time it began to receive, at most, and when it had received all. Needs a C compiler for the libraries; `cargo build
--release` and `cargo build --release -p mq-comm --example flood` build ours. A library that has no limit takes what
it needs, some 5 GiB on two cores.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# Messages and their bytes; the first is one flood of many, the second of long ones.
FLOODS = [(20_000_000, 8), (200_000, 16_000)]
QUICK = [(20_000, 8), (500, 16_000)]


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    built = os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "release")
    parser.add_argument("--built", default=built, metavar="DIR", help="where mq and examples/flood are (%(default)s)")
    parser.add_argument("--limit", action="append", metavar="BYTES", help="an MQ_UNEXPECTED_LIMIT for ours, as well as "
                        "the default; can be repeated (64M)")
    integrations = os.environ.get("MQ_INTEGRATIONS_DIR", "target/integrations")
    parser.add_argument("--nemesis", default=os.path.join(integrations, "mpich/stock"), metavar="PREFIX",
                        help="MPICH with ch3:nemesis, if it is there (%(default)s)")
    parser.add_argument("--seconds", type=int, default=10, metavar="N", help="that rank 2 waits (%(default)s)")
    parser.add_argument("--timeout", type=int, default=300, metavar="SECONDS", help="per run (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="a few messages and one second, to see that it works")
    options = parser.parse_args()
    if options.quick:
        options.seconds = 1
    if options.seconds < 1:
        parser.error("--seconds: at least one is needed")
    for program in ["mq", "examples/flood"]:
        path = os.path.join(options.built, program)
        if not os.access(path, os.X_OK):
            parser.error(f"{path} is not an executable program; see --help for how to build it")
    return options


def contestants(options, directory):
    """A name, a command that starts three processes, and variables, of each."""
    ours = [os.path.join(options.built, "mq"), "run", "-n", "3", "--label", "never", "--", os.path.join(options.built, "examples/flood")]
    found = [("mq", ours, {})]
    found += [(f"mq, {limit}", ours, {"MQ_UNEXPECTED_LIMIT": limit}) for limit in options.limit or ["64M"]]
    prefix = os.path.join(options.nemesis, "bin")
    libraries = {"openmpi": ("mpicc.openmpi", ["mpirun.openmpi", "--oversubscribe"]),
                 "mpich": ("mpicc.mpich", ["mpirun.mpich"]),
                 "nemesis": (os.path.join(prefix, "mpicc"), [os.path.join(prefix, "mpirun")])}
    for name, (compiler, launch) in libraries.items():
        if not shutil.which(compiler):
            print(f"flood.py: no {compiler}, so not {name}", file=sys.stderr)
            continue
        program = os.path.join(directory, name)
        compile = [compiler, "-std=c99", "-O2", "-Wall", "-Wextra", os.path.join(HERE, "flood.c"), "-o", program]
        if subprocess.run(compile, check=False).returncode != 0:
            sys.exit(f"flood.py: {compiler} does not compile flood.c")
        found.append((name, [*launch, "-n", "3", program], {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}))
    return found


def run(options, command, variables, messages, size):
    """What rank 0 has printed, or why there is nothing."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("MQ_")} | variables
    command = [*command, str(messages), str(size), str(options.seconds)]
    try:
        done = subprocess.run(command, env=known, capture_output=True, text=True, timeout=options.timeout, check=False)
    except subprocess.TimeoutExpired:
        return None, f"not over after {options.timeout} s"
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or len(lines) != 1:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        print(f"flood.py: {' '.join(command)} ended with {done.returncode}:\n" + "\n".join(said[:6]), file=sys.stderr)
        return None, "ended: " + (said[0] if said else f"status {done.returncode}")
    return json.loads(lines[0]), None


def main():
    options = parsed()
    missing = False
    with tempfile.TemporaryDirectory() as directory:
        found = contestants(options, directory)
        for messages, size in QUICK if options.quick else FLOODS:
            print(f"\n{messages:,} messages of {size:,} bytes, received after {options.seconds} s\n")
            print("| | MiB when receiving begins | most | when all are received | received in s |")
            print("| --- | ---: | ---: | ---: | ---: |")
            for name, command, variables in found:
                row, why = run(options, command, variables, messages, size)
                if row is None:
                    missing |= name.startswith("mq")
                    print(f"| {name} | {why} | | | |")
                else:
                    print(f"| {name} | {row['waiting']:.0f} | {row['peak']:.0f} | {row['after']:.0f} | {row['received_in']:.1f} |")
                sys.stdout.flush()
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
