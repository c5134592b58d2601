"""Interleaved rounds, the table, and the same figures as JSON."""

import itertools
import json
import os
import time

OURS = "dlpack-traits"


def loop(statement, **names):
    """A function that runs a statement n times: nanoseconds for each.

    The loop itself is in the figures of all contenders alike.
    """
    source = (
        "def run(times):\n"
        "    start = clock()\n"
        "    for _ in repeat(None, times):\n"
        f"        {statement}\n"
        "    return (clock() - start) / times\n"
    )
    names |= {"clock": time.perf_counter_ns, "repeat": itertools.repeat}
    exec(source, names)
    return names["run"]


def interleaved(subjects, rounds, batch):
    """Times all subjects in turn, again and again: lower quartile and median."""
    samples = [[] for _ in subjects]
    for round in range(rounds + rounds // 10 + 1):
        for run, kept in zip(subjects, samples):
            figure = run(batch)
            # The first tenth only warms up.
            if round > rounds // 10:
                kept.append(figure)
    return [(at(kept, 0.25), at(kept, 0.5)) for kept in samples]


def at(samples, part):
    samples.sort()
    return samples[int((len(samples) - 1) * part)]


class Report:
    """Collects rows, printing each as it is done."""

    def __init__(self, about):
        self.about = about
        self.rows = []

    def row(self, title, subjects, *, bar=None, rounds=1000, batch=100, unit="ns", group="python"):
        """Times named subjects. The first is what the others are compared with;
        `bar` is for the first of ours."""
        wanted = os.environ.get("BENCH_ROWS", "")
        if wanted not in title:
            return
        rounds = int(os.environ.get("BENCH_ROUNDS", rounds))
        names = list(subjects)
        times = interleaved(list(subjects.values()), rounds, batch)
        self.add(title, dict(zip(names, times)), bar=bar, unit=unit, group=group)

    def add(self, title, times, *, bar, unit, group):
        reference, (_, median) = next(iter(times.items()))
        entries = [
            {
                "name": name,
                "lower_quartile": round(quartile, 2),
                "median": round(middle, 2),
                "ratio": round(middle / median, 3),
                "allocations": None,
                "bytes": None,
            }
            for name, (quartile, middle) in times.items()
        ]
        ours = next((entry for entry in entries if entry["name"].startswith(OURS)), None)
        self.rows.append(
            {
                "group": group,
                "row": title,
                "unit": unit,
                "reference": reference,
                "floor": round(median, 2),
                "ours": ours and ours["median"],
                "ratio": ours and ours["ratio"],
                "bar": bar,
                "peers": {
                    entry["name"]: entry["median"]
                    for entry in entries[1:]
                    if not entry["name"].startswith(OURS)
                },
                "entries": entries,
            }
        )
        limit = "" if bar is None else f", at most {bar:.2f}"
        print(f"{title} ({unit}{limit})")
        print(f"  {'':<34} {'quartile':>9} {'median':>9} {'ratio':>7}")
        for entry in entries:
            print(
                f"  {entry['name']:<34} {entry['lower_quartile']:>9.1f}"
                f" {entry['median']:>9.1f} {entry['ratio']:>7.2f}"
            )
        print(flush=True)

    def write(self, path):
        with open(path, "w") as file:
            json.dump({"about": self.about, "rows": self.rows}, file, indent=1)
            file.write("\n")
