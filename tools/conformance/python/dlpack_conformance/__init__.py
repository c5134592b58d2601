"""What an importer of DLPack tensors makes of hostile and odd producers.

On the command line: ``python -m dlpack_conformance numpy:from_dlpack``. In a program:

>>> from dlpack_conformance import check
>>> findings = [row for row in check("numpy:from_dlpack") if row.finding]
"""

from ._native import Trial, __version__, clauses, trials
from .running import check
from .verdict import Row

__all__ = ["Row", "Trial", "__version__", "check", "clauses", "trials"]
