"""The picture of docs/generated/benchmarks.md: times of other libraries, divided by ours."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

INK, QUIET, GRID, OURS = "#24292f", "#6e7781", "#d8dee4", "#1a7f64"
# Each library with its colour and marker, in the order of the legend.
LIBRARIES = {
    "by hand in Rust": ("#ffffff", "o"),
    "NumPy": ("#0072b2", "o"),
    "PyTorch": ("#d55e00", "s"),
    "tvm-ffi": ("#009e73", "^"),
    "nanobind": ("#cc79a7", "D"),
    "rust-numpy": ("#56b4e9", "h"),
    "dlpark": ("#e69f00", "v"),
    "dlpk": ("#7a4db0", "P"),
    "dlpack-rs": ("#8b5a2b", "X"),
    "pyo3-dlpack": ("#b3123f", "*"),
}
# The libraries of entries that have other names.
ALIASES = {
    "floor": "by hand in Rust",
    "slice": "by hand in Rust",
    "numpy.from_dlpack(array)": "NumPy",
    "torch, held by C++ too": "PyTorch",
    "torch's own, unchecked": "PyTorch",
}
# The rows of the picture: the label, the row of the page, and the name of our entry.
PANELS = {
    "Rust": [
        ("export, release", "export + C deleter", "dlpack-traits"),
        ("import, drop", "import + drop, contiguous", "dlpack-traits"),
        ("import to a slice, drop", "import to a slice + drop", "dlpack-traits"),
        ("export, import, drop", "round trip", "dlpack-traits"),
    ],
    "C exchange API": [
        (
            "tensor from an object, release",
            "table: from object + deleter, general Tensor",
            "dlpack-traits, general Tensor",
        ),
        (
            "borrowed DLTensor",
            "table: borrowed DLTensor, general Tensor",
            "dlpack-traits, general Tensor",
        ),
        ("allocation, release", "table: allocator + deleter", "dlpack-traits, Arc<[f32]>"),
    ],
    "Python": [
        ("x.__dlpack__()", "obj.__dlpack__()", "dlpack-traits, SharedBuffer"),
        ("numpy.from_dlpack(x)", "numpy.from_dlpack(obj)", "dlpack-traits, Arc<[f32]>"),
        ("torch.from_dlpack(x)", "torch.from_dlpack(obj)", "dlpack-traits, Arc<[f32]>"),
        ("tvm_ffi.from_dlpack(x)", "tvm_ffi.from_dlpack(obj)", "dlpack-traits, Arc<[f32]>"),
        (
            "from_dlpack(NumPy array)",
            "Tensor.from_dlpack(numpy array), general Tensor",
            "dlpack-traits, general Tensor",
        ),
        (
            "Rust: import a PyTorch tensor, drop",
            "Rust from_dlpack(torch tensor) + drop, by table",
            "dlpack-traits",
        ),
    ],
    "Reading and writing elements": [
        ("sum of 10,000 f32", "sum of 10,000 f32", "dlpack-traits, for_each_block"),
        ("sum of 16 M f32", "sum of 16 M f32", "dlpack-traits, for_each_block"),
        ("16 M f32 scaled in place", "16 M f32 scaled in place", "dlpack-traits, map_in_place"),
    ],
}
LEAST, MOST = 0.36, 60.0
# Markers of one row that are closer than this factor are drawn one above the other.
APART = 1.13


def draw(groups, time, path):
    """Writes `path` as SVG and as PNG. `time` formats a figure of a row with its unit."""
    measured = {row["row"]: row for rows in groups.values() for row in rows}
    shown = {name: rows_of(rows, measured) for name, rows in PANELS.items()}
    shown = {name: rows for name, rows in shown.items() if rows}
    if not shown:
        return
    heights = [len(rows) + 0.9 for rows in shown.values()]
    plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 9, "svg.hashsalt": "dlpack"})
    figure, places = plt.subplots(
        len(shown),
        1,
        figsize=(9, 0.36 * sum(heights) + 1.3),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    places = places[:, 0]
    for place, (name, rows) in zip(places, shown.items()):
        panel(place, name, rows, time)
    places[-1].tick_params(labelbottom=True)
    places[-1].set_xlabel(
        "time divided by the time of this crate: left of the line is faster, right is slower",
        color=INK,
    )
    legend(figure, {name for rows in shown.values() for *_, others in rows for name in others})
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"), dpi=160, metadata={"Software": None})
    plt.close(figure)


def rows_of(rows, measured):
    """The measured rows of a panel: label, row, our figure, and those of the other libraries."""
    found = []
    for label, title, name in rows:
        entries = {e["name"]: e["median"] for e in measured.get(title, {}).get("entries", [])}
        if name not in entries:
            print(f"left out of the picture: {title} has no figure of {name}")
            continue
        others = {library_of(entry): median for entry, median in entries.items()}
        others.pop(None, None)
        found.append((label, measured[title], entries[name], others))
    return found


def library_of(entry):
    """The library of an entry, such as `dlpark 0.10.0`; None for one that is not shown."""
    if entry in ALIASES:
        return ALIASES[entry]
    return next((name for name in LIBRARIES if entry.replace(",", "").split(" ")[0] == name), None)


def panel(axes, heading, rows, time):
    axes.set_title(heading, loc="left", fontsize=10, fontweight="bold", color=INK)
    axes.set_xscale("log")
    axes.axvline(1.0, color=OURS, lw=1.6, zorder=1)
    for line, (_, row, ours, others) in enumerate(rows):
        axes.axhline(line, color=GRID, lw=0.6, zorder=0)
        for library, ratio, height in placed(others, ours):
            axes.plot(ratio, line + height, ls="", zorder=3, clip_on=False, **style_of(library))
        axes.text(
            1.01, line, time(ours, row["unit"]), transform=axes.get_yaxis_transform(),
            va="center", fontsize=9, color=OURS, fontweight="bold",
        )
    axes.set_yticks(range(len(rows)), [label for label, *_ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(LEAST, MOST)
    axes.xaxis.set_major_locator(FixedLocator([0.5, 1, 2, 5, 10, 20, 50]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(axis="x", color=GRID, lw=0.6, zorder=0)
    axes.tick_params(length=0, colors=QUIET, labelbottom=False)
    for label in axes.get_yticklabels():
        label.set_color(INK)
    for side in axes.spines.values():
        side.set_visible(False)


def placed(others, ours):
    """Each library with its ratio and its height in the row. Close markers have different
    heights."""
    groups = []
    for library, median in sorted(others.items(), key=lambda item: item[1]):
        ratio = min(max(median / ours, LEAST), MOST)
        if groups and ratio / groups[-1][-1][1] < APART:
            groups[-1].append((library, ratio))
        else:
            groups.append([(library, ratio)])
    for group in groups:
        for number, (library, ratio) in enumerate(group):
            yield library, ratio, 0.27 * (number - (len(group) - 1) / 2)


def style_of(library):
    """The marker of a library. A white one has an outline."""
    colour, marker = LIBRARIES[library]
    outline = (INK, 1.0) if colour == "#ffffff" else ("#ffffff", 0.5)
    return {"color": colour, "marker": marker, "ms": 7, "mec": outline[0], "mew": outline[1]}


def legend(figure, used):
    handles = [Line2D([], [], color=OURS, lw=1.6, label="this crate, its time at the right")]
    for library in LIBRARIES:
        if library in used:
            handles.append(Line2D([], [], ls="", label=library, **style_of(library)))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
