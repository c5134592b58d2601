"""What was measured, and which of two verdicts is worse."""

from peers import PEERS

OURS = "dlpack_example"
# From worst to best.
RANKS = ("CRASH", "WRONG", "unusable", "converted", "refused", "copy", "same")
NOTHING = ("not made", "not exported", "not imported")


def rank(verdict):
    """How good a verdict is."""
    return RANKS.index(verdict)


class Measured:
    """Cells by consumer, producer, element type and layout."""

    def __init__(self):
        self.cells, self.versions, self.missing, self.failures = {}, {}, {}, []
        # Pairs that do not load into one process.
        self.apart = set()

    def add(self, job):
        """Takes what a job measured."""
        into = job.consumer + job.suffix
        for name, version in job.versions.items():
            self.versions[name + job.suffix] = version
        for name, why in job.failed.items():
            absent = why.startswith("ModuleNotFoundError")
            if len(job.producers) == 1 and not absent:
                self.apart.add((job.producers[0] + job.suffix, into))
            else:
                self.missing[name + job.suffix] = why
        for key, cell in job.cells.items():
            producer, dtype, layout = key.split("|")
            self.cells[into, producer + job.suffix, dtype, layout] = cell

    def judge(self):
        """The outcomes that fail the test whatever the record states: a wrong result that
        only our class can have caused."""
        found = []
        for key, (verdict, why, reference) in self.cells.items():
            ours = key[0].startswith(OURS) or verdict != reference
            # Our class exports a row-major copy of read-only memory to a consumer
            # of legacy capsules. A consumer that converts row-major tensors of
            # this element type also converts the copy.
            compact = self.cells.get((*key[:3], "contiguous"))
            if verdict == "converted" and compact and compact[2] == verdict:
                ours = key[0].startswith(OURS)
            if ours and verdict in ("converted", "unusable", "WRONG", "CRASH"):
                found.append(f"{' | '.join(key)}: {verdict}, {why}")
        return found

    def ours(self):
        """Our class, in each environment."""
        return self.named(0, lambda name: name.startswith(OURS))

    def consumers(self):
        """All consumers but our class."""
        return self.named(0, lambda name: not name.startswith(OURS))

    def producers(self):
        """All producers."""
        return self.named(1, lambda name: True)

    def named(self, place, wanted):
        """The names in one place of the keys, in the order of the libraries."""
        order = list(PEERS)
        return sorted(
            {key[place] for key in self.cells if wanted(key[place])},
            key=lambda name: ("(" in name, order.index(name.partition(" (")[0])),
        )

    def count(self):
        """How many cells hold a verdict."""
        return sum(cell[0] not in NOTHING for cell in self.cells.values())


def worse(recorded, found):
    """The cells that are worse than the record of them."""
    failures = []
    measured = {(into, producer) for into, producer, *_ in found.cells}
    for key, verdict in recorded.items():
        where = " | ".join(key)
        if key[:2] not in measured:
            continue  # said by name where it is missing
        into, producer, *rest = key
        suffix = into.partition(" (")
        taken = (OURS + suffix[1] + suffix[2], producer, *rest)
        if taken not in recorded:
            continue  # a row of several producers, of which this makes no such tensor
        now = found.cells.get(key, ("not measured", "", None))
        if now[0] not in RANKS:
            failures.append(f"{where}: {now[0]} ({now[1]}), and {verdict} before")
        elif rank(now[0]) < rank(verdict):
            failures.append(f"{where}: {now[0]} ({now[1]}), and {verdict} before")
    return failures
