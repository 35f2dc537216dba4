#!/usr/bin/env python3
"""Tables and plots of compare.sh's measurements. Reads its results or the file that its --json wrote."""

import argparse
import json
import os
import statistics
import sys

TITLES = {
    ("pingpong", "half-trip"): "Ping-pong, half a round trip",
    ("rate", "per message"): "Message rate, time for each message",
    ("posted", "first"): "Posted receives, first message",
    ("posted", "drain"): "Posted receives, mean over the drain",
    ("posted", "burst"): "Posted receives, all messages in one burst, time for each",
    ("unexpected", "first"): "Unexpected messages, first receive",
    ("unexpected", "drain"): "Unexpected messages, mean over the drain",
}
APART = 1.5  # a ratio of medians that is off the median of ratios by this factor is marked
SHORT = ("pingpong", "rate")  # ratios are near 1, so their spread is printed


def read(path):
    """The runs of a file: [{"round", "label", "rows"}], stock first."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.startswith('{"runs"'):
        return json.loads(text)["runs"]
    runs = {}
    rows = None
    for line in text.splitlines():
        entry = json.loads(line)
        if "run" in entry:
            run = entry["run"]
            rows = runs.setdefault((run["round"], run["label"]), {**run, "rows": []})["rows"]
        else:
            rows.append(entry)
    return list(runs.values())


class Results:
    """Rows of all runs by table, then by case, depth and size, then by label: one for each round."""

    def __init__(self, runs):
        self.labels = list(dict.fromkeys(run["label"] for run in runs))
        self.libraries = {}
        self.tables = {}
        for run in runs:
            for row in run["rows"]:
                if row["measurement"] == "environment":
                    self.libraries[run["label"]] = row
                else:
                    self.add(run, row)
        if "stock" not in self.labels:
            sys.exit("tabulate.py: the file has no run of the stock library")
        self.pair({run["round"] for run in runs})

    def add(self, run, row):
        table = self.tables.setdefault((row["measurement"], row["what"]), {})
        cells = table.setdefault((row["case"], row["depth"], row["bytes"]), {})
        cells.setdefault(run["label"], {})[run["round"]] = row

    def pair(self, rounds):
        """Keeps the rounds that all labels have, in order: others are from a comparison that was ended early."""
        left_out = 0
        for name, table in list(self.tables.items()):
            for key, cells in list(table.items()):
                common = sorted(round for round in rounds
                                if all(round in cells.get(label, {}) for label in self.labels))
                left_out += len(rounds) - len(common)
                table[key] = {label: [cells[label][round] for round in common] for label in self.labels if common}
                if not common:
                    del table[key]
            if not table:
                del self.tables[name]
        if left_out:
            print(f"tabulate.py: warning: the comparison was ended early; {left_out} rows of single rounds are "
                  "left out", file=sys.stderr)
        if not self.tables:
            sys.exit("tabulate.py: no row is common to all libraries")


def medians(rows):
    return [row["median_ns"] for row in rows]


def ratios(cells, label):
    """Stock over ours, round by round, since the two were measured right after each other."""
    return [stock / max(ours, 0.1) for stock, ours in zip(medians(cells["stock"]), medians(cells[label]))]


def nanoseconds(value):
    if value < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def ratio_text(values, spread):
    value = statistics.median(values)
    if spread:
        return f"{value:.2f} ({min(values):.2f}-{max(values):.2f})"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def is_cut(rows):
    return any(not row["complete"] for row in rows)


def are_of_one_part(stock, ours):
    """Whether both means are of the same messages in each round: of whole drains, or of parts of one length."""
    return all((one["complete"], one["messages"]) == (other["complete"], other["messages"])
               for one, other in zip(stock, ours))


def is_of_two_speeds(cells, label):
    """Whether the medians, which are of different rounds, say something else than the rounds do one by one."""
    stock, ours = (statistics.median(medians(cells[name])) for name in ("stock", label))
    apart = stock / max(ours, 0.1) / statistics.median(ratios(cells, label))
    return not 1 / APART < apart < APART


def cells_of(results, cells, spread):
    for label in results.labels:
        yield nanoseconds(statistics.median(medians(cells[label]))) + ("*" if is_cut(cells[label]) else "")
        if label != "stock":
            # The shorter part has the deeper queue, so it is more expensive.
            uneven = not are_of_one_part(cells["stock"], cells[label])
            mark = ("*" if uneven else "") + ("~" if is_of_two_speeds(cells, label) else "")
            yield ratio_text(ratios(cells, label), spread) + mark


def heading(results, measurement):
    yield {"pingpong": "receive", "rate": "window"}.get(measurement, "order")
    yield "depth"
    yield "bytes"
    for label in results.labels:
        yield label
        if label != "stock":
            yield "stock / it"


def print_table(results, name):
    measurement, _ = name
    lines = [list(heading(results, measurement))]
    for (case, depth, size), cells in results.tables[name].items():
        lines.append([case, str(depth), str(size), *cells_of(results, cells, measurement in SHORT)])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    print(f"\n{TITLES.get(name, ' '.join(name))} (ns)\n")
    for line in [lines[0], rule, *lines[1:]]:
        cells = [text.rjust(width) for text, width in zip(line[1:], widths[1:])]
        print("| " + " | ".join([line[0].ljust(widths[0]), *cells]) + " |")


def print_tables(results, rounds):
    for label, row in results.libraries.items():
        if label == "stock" or row["library"] != results.libraries["stock"]["library"]:
            print(f"{label}: {row['library']}")
    row = results.libraries["stock"]
    print(f"{row['ranks']} ranks; medians of {rounds} round{'' if rounds == 1 else 's'}; "
          f"a reading of the clock takes {row['clock_ns']:.0f} ns")
    for name in TITLES:
        if name in results.tables:
            print_table(results, name)
    if any(not row["complete"] for table in results.tables.values() for cells in table.values()
           for rows in cells.values() for row in rows):
        print("\n* the time budget ended a drain: the mean is of its first part, where the queue is longest; a ratio of"
              " unequal parts\n  is up to twice what it would be where stock's is the shorter one, and down to half of"
              " it where ours is")
    if any(is_of_two_speeds(cells, label) for table in results.tables.values() for cells in table.values()
           for label in results.labels if label != "stock"):
        print("\n~ the machine had two speeds: the times are medians of rounds at either, and the ratio, of times of one"
              " round each,\n  says more")


def style(results, label, pyplot):
    if label == "stock":
        return {"color": "black", "linestyle": "--"}
    return {"color": pyplot.get_cmap("tab20")((results.labels.index(label) - 1) % 20)}


def draw_lines(pyplot, axes, results, rows, across):
    """A line for each label; `across` takes the x value from a row's key."""
    for label in results.labels:
        points = sorted((across(key), statistics.median(medians(cells[label]))) for key, cells in rows.items())
        axes.plot([x for x, _ in points], [y for _, y in points], marker=".", label=label,
                  **style(results, label, pyplot))
    axes.set_xscale("symlog", linthresh=1)
    axes.set_yscale("log")
    axes.grid(True, which="major", alpha=0.3)


def draw_bars(pyplot, axes, results, rows):
    for cells in rows.values():
        for place, label in enumerate(results.labels):
            axes.barh(place, statistics.median(medians(cells[label])),
                      color=style(results, label, pyplot)["color"])
    axes.set_yticks(range(len(results.labels)), results.labels)
    axes.invert_yaxis()
    axes.set_xlabel("ns")


def plot_measurement(pyplot, results, measurement, folder):
    tables = {what: table for (name, what), table in results.tables.items() if name == measurement}
    cases = list(dict.fromkeys(case for table in tables.values() for case, _, _ in table))
    by_size = measurement == "pingpong"
    figure, grid = pyplot.subplots(len(tables), len(cases), squeeze=False, sharey="row",
                                   figsize=(3.6 * len(cases) + 1, 3.4 * len(tables)))
    for i, (what, table) in enumerate(tables.items()):
        for j, case in enumerate(cases):
            axes = grid[i][j]
            axes.set_title(f"{measurement}, {case}: {what}", fontsize=9)
            rows = {key: cells for key, cells in table.items() if key[0] == case}
            if measurement == "rate":
                draw_bars(pyplot, axes, results, rows)
                continue
            draw_lines(pyplot, axes, results, rows, lambda key: key[2 if by_size else 1])
            axes.set_xlabel("bytes" if by_size else "depth")
            axes.set_ylabel("" if j else "ns")
    if measurement != "rate":
        grid[0][0].legend(fontsize=7)
    figure.tight_layout()
    path = os.path.join(folder, f"{measurement}.png")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    print(path, file=sys.stderr)


def plot(results, folder):
    try:
        import matplotlib
    except ImportError:
        sys.exit("tabulate.py: --plot needs matplotlib: python3 -m pip install matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    os.makedirs(folder, exist_ok=True)
    for measurement in dict.fromkeys(name for name, _ in TITLES):
        if any(name == measurement for name, _ in results.tables):
            plot_measurement(pyplot, results, measurement, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", help="what compare.sh measured")
    parser.add_argument("--json", metavar="FILE", help="write all runs with all samples")
    parser.add_argument("--plot", metavar="DIR", help="write a PNG for each measurement; needs matplotlib")
    arguments = parser.parse_args()
    runs = read(arguments.results)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"runs": runs}, file)
            file.write("\n")
    results = Results(runs)
    print_tables(results, len({run["round"] for run in runs}))
    if arguments.plot:
        plot(results, arguments.plot)


if __name__ == "__main__":
    main()
