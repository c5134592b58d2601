# pyright: strict
"""Calls that a type checker rejects: one error for each line that says so."""

import array_functions
import numpy as np

array_functions.row_norms([[1.0]])  # error
array_functions.clamp(np.zeros(2), 0)  # error
array_functions.clamp(np.zeros(2), "low", 1.0)  # error
array_functions.normalized(None)  # error
array_functions.norms(np.zeros(2))  # error
x: int = array_functions.row_norms(np.zeros((2, 2), np.float32))  # error
