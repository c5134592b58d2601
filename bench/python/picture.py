"""The picture of docs/benchmarks.md: the ratio of each row, its bar, and the peers."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

INK, QUIET, GRID = "#24292f", "#6e7781", "#d8dee4"
MET, MISSED, PEER = "#1a7f64", "#c4622d", "#8c959f"
HEADINGS = {
    "rust": "Rust",
    "table": "Exchange table, from C",
    "python": "Python",
    "reading": "Reading elements",
    "size": "Machine code",
    "compile": "Compile time",
}
# Peers further away than this are at the edge.
FARTHEST = 2.5


def draw(groups, missed, path):
    """Writes `path` as SVG and as PNG."""
    shown = {
        name: [row for row in rows if row["bar"] is not None and ratio_of(row)]
        for name, rows in groups.items()
    }
    shown = {name: rows for name, rows in shown.items() if rows}
    heights = [len(rows) + 0.9 for rows in shown.values()]
    plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 9, "svg.hashsalt": "dlpack"})
    figure, places = plt.subplots(
        len(shown),
        1,
        figsize=(9, 0.34 * sum(heights) + 1.2),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    for place, (name, rows) in zip(places[:, 0], shown.items()):
        panel(place, HEADINGS.get(name, name), rows, missed)
    legend(figure)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"), dpi=160, metadata={"Software": None})
    plt.close(figure)


def ratio_of(row):
    """The ratio of a row; where the bar is for a figure, the part of it that ours is."""
    if row["ratio"] is None and row["bar"] and row["ours"]:
        return row["ours"] / row["bar"]
    return row["ratio"]


def panel(axes, heading, rows, missed):
    axes.set_title(heading, loc="left", fontsize=10, fontweight="bold", color=INK)
    for line, row in enumerate(rows):
        exact = ratio_of(row)
        ratio = min(exact, FARTHEST)
        colour = MISSED if missed(row) else MET
        axes.barh(line, ratio, height=0.58, color=colour, zorder=2)
        axes.text(
            0.02, line, f"{exact:.2f}", va="center", fontsize=8, color="white", zorder=5
        )
        for other in row["entries"][1:]:
            if not other["name"].startswith("dlpack-traits"):
                axes.plot(
                    min(other["ratio"], FARTHEST), line, "o", ms=4, color=PEER, mec="white",
                    mew=0.5, zorder=4, clip_on=False,
                )
        if row["bar"] is not None:
            bar = 1.0 if row["ratio"] is None else row["bar"]
            axes.plot([bar] * 2, [line - 0.4, line + 0.4], color=INK, lw=1.4, zorder=3)
    axes.axvline(1.0, color=QUIET, lw=0.8, ls=(0, (4, 3)), zorder=1)
    axes.set_yticks(range(len(rows)), [row["row"] for row in rows], color=INK)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, FARTHEST)
    axes.grid(axis="x", color=GRID, lw=0.6, zorder=0)
    axes.tick_params(length=0, colors=QUIET)
    for label in axes.get_yticklabels():
        label.set_color(INK)
    for side in axes.spines.values():
        side.set_visible(False)


def legend(figure):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure.legend(
        handles=[
            Patch(color=MET, label="ours, within the bar"),
            Patch(color=MISSED, label="ours, beyond it"),
            Line2D([], [], color=INK, lw=1.4, label="the bar"),
            Line2D([], [], color=PEER, marker="o", ls="", label=f"others (at {FARTHEST:g}: or slower)"),
            Line2D([], [], color=QUIET, lw=0.8, ls=(0, (4, 3)), label="what it is compared with"),
        ],
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=8,
    )
