#!/usr/bin/env python3
"""Tables of compare.sh's measurements. Reads its results, or the file that its --raw wrote."""

import argparse
import json
import math
import statistics
import sys

# For each mode: the keys of its rows, with defaults; the figure; whether less of it is better.
MODES = {
    "pingpong": ([("size", None)], "ns", True),
    "bandwidth": ([("by", "window"), ("size", None)], "gb_s", False),
    "rate": ([("senders", 1), ("size", 8)], "per_s", False),
    "halo": ([("tile", None)], "ns", True),
    "calls": ([("call", None), ("ranks", 2), ("size", None)], "ns", True),
}
TITLES = {
    "pingpong": "Ping-pong, one way (ns)",
    "bandwidth": "Bandwidth (GB/s of 10^9 bytes)",
    "rate": "Message rate (messages a second)",
    "halo": "Halo exchange (ns)",
    "calls": "Other calls, a round (ns)",
}


class Results:
    """Figures by mode, then by key, then by contestant, then by round."""

    def __init__(self):
        self.kinds = {}
        self.libraries = {}
        self.algorithms = set()
        self.rounds = set()
        self.rows = {mode: {} for mode in MODES}
        self.bare = {}
        # By mode, then by warning, the rounds to which it applies.
        self.warnings = {mode: {} for mode in MODES}
        # What an environment row says about the run that is being read.
        self.cores = None

    def read(self, path):
        run = None
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    entry = json.loads(line)
                    if "run" in entry:
                        run = entry["run"]
                        self.cores = None
                        self.rounds.add(run["round"])
                        if run["kind"] != "bare":
                            self.kinds[run["label"]] = run["kind"]
                    elif "warning" in entry:
                        warning = entry["warning"]
                        self.warn(warning["mode"], warning["text"], warning["round"])
                    else:
                        self.add(run, entry)
                except (ValueError, KeyError, TypeError) as error:
                    label = run["label"] if run else "before any run"
                    sys.exit(f"tabulate.py: line {number} ({label}) is not a row that README.md defines "
                             f"({type(error).__name__}: {error}): {line.strip()[:200]}")

    def add(self, run, row):
        mode = row["mode"]
        if mode == "environment":
            self.libraries[run["label"]] = row.get("library", "?")
            self.cores = row.get("cores")
        elif mode == "line":
            self.bare.setdefault(("line", row["lines"]), {})[run["round"]] = float(row["ns"])
        elif mode == "memcpy":
            self.bare.setdefault(("memcpy", row["source"], row["size"]), {})[run["round"]] = float(row["gb_s"])
        elif mode in MODES:
            keys, figure, _ = MODES[mode]
            key = tuple(row[name] if default is None else row.get(name, default) for name, default in keys)
            if not 0 < float(row[figure]) < math.inf:
                raise ValueError(f"{figure} is not a number above 0")
            self.rows[mode].setdefault(key, {}).setdefault(run["label"], {})[run["round"]] = float(row[figure])
            if "algorithm" in row:
                self.algorithms.add(row["algorithm"])
            self.check_cores(run, row)
        else:
            raise ValueError(f"unknown mode {mode}")

    def check_cores(self, run, row):
        """Whether the processes ran where compare.sh wanted them; not every contestant reports it."""
        if "cores" not in row and self.cores is None:
            return
        cores = row.get("cores", self.cores) or []
        # A file from an older compare.sh does not say which were wanted.
        wanted = run.get("cores")
        right = cores == dealt(wanted, len(cores)) if wanted else len(set(cores)) == 2 and not {-1, None} & set(cores)
        if not cores or not right:
            where = f"cores {', '.join(map(str, wanted))}" if wanted else "two cores"
            self.warn(row["mode"], f"{run['label']}: the processes were not bound to the {where}", run["round"])

    def warn(self, mode, text, number):
        self.warnings[mode].setdefault(text, set()).add(number)

    def warnings_of(self, mode):
        for text, rounds in self.warnings[mode].items():
            yield f"{text} (round{'' if len(rounds) == 1 else 's'} {', '.join(map(str, sorted(rounds)))})"

    def labels(self, kind=None):
        return [label for label in self.kinds if kind in (None, self.kinds[label])]


def dealt(cores, processes):
    """The core of each process, as compare.sh and `mq` deal them."""
    return [cores[rank if processes <= len(cores) else rank * len(cores) // processes] for rank in range(processes)]


def paired(cells, others):
    """The median over the rounds of the ratio in each, or None."""
    ratios = [cells[number] / others[number] for number in cells if number in others]
    return statistics.median(ratios) if ratios else None


def summary(cells):
    values = list(cells.values())
    return {"median": statistics.median(values), "least": min(values), "greatest": max(values)}


def bare_columns(mode, key):
    """The bare-hardware columns of a row: (name in the table, name in JSON, key in Results.bare)."""
    if mode == "pingpong":
        return [("1 line", "line_1", ("line", 1)), ("2 lines", "line_2", ("line", 2))]
    if mode == "bandwidth":
        columns = [("memcpy", "memcpy", ("memcpy", "own", key[-1])),
                   ("in turns", "memcpy_turns", ("memcpy", "turns", key[-1])),
                   ("from other", "memcpy_other", ("memcpy", "other", key[-1]))]
        # A ping-pong has one place to receive into.
        return [column for column in columns if key[0] not in ("pingpong", "rewritten") or column[0] != "in turns"]
    return []


def digest(results):
    """Everything that is printed, as --format json prints it."""
    rows = []
    for mode, (keys, _, less) in MODES.items():
        for key, cells in results.rows[mode].items():
            row = {"mode": mode, **dict(zip([name for name, _ in keys], key))}
            row["contestants"] = {label: summary(cells[label]) for label in results.labels() if label in cells}
            found = [(name, results.bare[place]) for _, name, place in bare_columns(mode, key) if place in results.bare]
            row["bare"] = {name: summary(figures) for name, figures in found}
            libraries = [label for label in results.labels("library") if label in cells]
            best = (min if less else max)(libraries, default=None,
                                          key=lambda label: row["contestants"][label]["median"])
            row["fastest_library"] = best
            compared = [label for label in results.labels("ours") if label in cells]
            row["to_fastest"] = {label: paired(cells[label], cells[best]) for label in compared if best}
            row["to_bare"] = {label: {name: paired(cells[label], figures) for name, figures in found}
                              for label in compared + ([best] if best and not compared else [])}
            rows.append(row)
    return {"rounds": len(results.rounds), "libraries": results.libraries,
            "warnings": [f"{mode}: {warning}" for mode in MODES for warning in results.warnings_of(mode)], "rows": rows}


def number(value):
    if value is None:
        return "-"
    if value < 100:
        return f"{value:.2f}" if value < 10 else f"{value:.1f}"
    return f"{value:,.0f}"


def cell(figures):
    """The median, followed by half of the rounds' range, in percent of it."""
    if figures is None:
        return "-"
    spread = (figures["greatest"] - figures["least"]) / 2 / figures["median"]
    return f"{number(figures['median'])} ±{spread * 100:.0f}%"


def table_of(results, mode, rows):
    keys = [name for name, _ in MODES[mode][0]]
    names = [(title, name) for title, name, _ in bare_columns(mode, (0, 0)) if any(name in row["bare"] for row in rows)]
    contestants = [label for label in results.labels() if any(label in row["contestants"] for row in rows)]
    compared = [label for label in results.labels("ours") if label in contestants]
    lines = [[*keys, *(title for title, _ in names), *contestants]]
    for label in compared:
        if any(row["fastest_library"] for row in rows):
            lines[0].append(f"{label} / fastest library")
    for label in compared or ["fastest library"]:
        lines[0] += [f"{label} / {title}" for title, _ in names]
    for row in rows:
        line = [str(row[key]) for key in keys]
        line += [cell(row["bare"].get(name)) for _, name in names]
        line += [cell(row["contestants"].get(label)) for label in contestants]
        for label in compared:
            if any(row["fastest_library"] for row in rows):
                line.append(number(row["to_fastest"].get(label)))
        for label in compared or [row["fastest_library"]]:
            line += [number(row["to_bare"].get(label, {}).get(name)) for _, name in names]
        lines.append(line)
    return lines


def print_tables(results, everything):
    for label, library in results.libraries.items():
        print(f"{label}: {library}")
    rounds = everything["rounds"]
    print(f"medians of {rounds} round{'' if rounds == 1 else 's'}, ± half of the range over the rounds")
    for mode in MODES:
        rows = [row for row in everything["rows"] if row["mode"] == mode]
        if not rows:
            continue
        lines = table_of(results, mode, rows)
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        title = TITLES[mode]
        if mode == "halo" and results.algorithms:
            title += f", {', '.join(sorted(results.algorithms))}"
        print(f"\n{title}\n")
        rule = ["-" * (width - 1) + ":" for width in widths]
        for line in [lines[0], rule, *lines[1:]]:
            print("| " + " | ".join(text.rjust(width) for text, width in zip(line, widths)) + " |")
        for warning in results.warnings_of(mode):
            print(f"\nWarning: {warning}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", help="what compare.sh measured")
    parser.add_argument("--format", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    results = Results()
    results.read(arguments.results)
    everything = digest(results)
    if not everything["rows"]:
        sys.exit("tabulate.py: there are no rows")
    if arguments.format == "json":
        json.dump(everything, sys.stdout, allow_nan=False)
        print()
    else:
        print_tables(results, everything)
    for warning in everything["warnings"]:
        print(f"tabulate.py: warning: {warning}", file=sys.stderr)


if __name__ == "__main__":
    main()
