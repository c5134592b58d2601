"""`docs/generated/interop.md` is a record: it reads back as what was measured, and what got
worse is found."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "python" / "matrix"))

import page  # noqa: E402
import verdicts  # noqa: E402
from grid import DTYPES, LAYOUTS  # noqa: E402

RECORD = (ROOT / "docs" / "generated" / "interop.md").read_text()
OURS = verdicts.OURS


def measured(into, verdict, reference, producers=("numpy", "torch")):
    """Cells that all ended alike; torch makes nothing that is read-only."""
    found = verdicts.Measured()
    for consumer in (OURS, into):
        for producer in producers:
            for dtype in DTYPES:
                for layout in LAYOUTS:
                    cell = (verdict, "why", reference)
                    if consumer == OURS:
                        cell = ("same", "", None)
                    if producer == "torch" and layout.read_only:
                        cell = ("not made", "", None)
                    found.cells[consumer, producer, dtype, layout.name] = cell
    return found


@pytest.mark.parametrize("reference", ["copy", "refused"])
def test_a_page_reads_back_as_it_was_measured(reference):
    found = measured("jax", "copy", reference)
    recorded = page.parse(page.render(found))
    for key, (verdict, _, _) in found.cells.items():
        if verdict in verdicts.RANKS:
            assert recorded[key] == verdict
    assert verdicts.worse(recorded, found) == []


@pytest.mark.parametrize("worse", ["refused", "WRONG", "CRASH", "not made", "not imported"])
def test_one_worse_cell_is_found(worse):
    recorded = page.parse(page.render(measured("jax", "copy", "copy")))
    found = measured("jax", "copy", "copy")
    key = ("jax", "torch", "int8", "strided")
    found.cells[key] = (worse, "why", None)
    assert len(verdicts.worse(recorded, found)) == 1
    del found.cells[key]
    assert len(verdicts.worse(recorded, found)) == 1


def test_better_cells_are_no_failure():
    recorded = page.parse(page.render(measured("jax", "copy", "copy")))
    assert verdicts.worse(recorded, measured("jax", "same", "same")) == []


def test_a_library_that_is_missing_here_is_none_that_got_worse():
    recorded = page.parse(page.render(measured("jax", "copy", "copy")))
    found = measured("jax", "copy", "copy", producers=("numpy",))
    assert verdicts.worse(recorded, found) == []


@pytest.mark.parametrize("verdict", ["WRONG", "CRASH", "converted", "unusable"])
def test_wrong_answers_that_are_only_ours_fail_at_once(verdict):
    assert measured("jax", verdict, "same").judge()
    assert not measured("jax", verdict, verdict).judge()


def test_conversion_of_a_copy_is_accepted_where_the_consumer_converts_compact_tensors():
    found = measured("mlx", "converted", "converted")
    key = ("mlx", "numpy", "float64", "reversed")
    found.cells[key] = ("converted", "to float32", "refused")
    assert not found.judge()
    found.cells["mlx", "numpy", "float64", "contiguous"] = ("same", "", "same")
    assert len(found.judge()) == 1


def test_the_committed_record_has_no_wrong_answer_of_ours():
    recorded = page.parse(RECORD)
    assert len({into for into, *_ in recorded}) > 10
    ours = {verdict for (into, *_), verdict in recorded.items() if into.startswith(OURS)}
    assert ours <= {"same", "copy"}
