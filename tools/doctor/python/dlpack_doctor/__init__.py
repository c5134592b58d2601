"""What is wrong with a DLPack producer, in words.

>>> import numpy
>>> report = examine(numpy.zeros(3))
>>> report.healthy
True

On the command line: ``python -m dlpack_doctor 'numpy.zeros(3)'``.
"""

from ._native import CHECKS, CONSUMERS, __version__
from .report import Report, examine

__all__ = ["CHECKS", "CONSUMERS", "Report", "__version__", "examine"]
