"""Runs in an environment with NumPy and the wheel, and nothing else."""

import json
import subprocess
import sys

import dlpack_doctor
import numpy


def doctor(*arguments):
    command = [sys.executable, "-m", "dlpack_doctor", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


ended = doctor("numpy.zeros(3)")
assert ended.returncode == 0, ended
assert "float64" in ended.stdout and "tvm_ffi" in ended.stdout, ended.stdout
ended = doctor("--json", "--live", "--try", "numpy", "np.zeros((2, 3))[::-1]")
found = json.loads(ended.stdout)
assert ended.returncode == 0 and found["healthy"], ended
assert found["tried"]["numpy"]["fit"] == "same", found["tried"]
assert len(found["checks"]) == len(dlpack_doctor.CHECKS)
assert doctor("3").returncode == 1
assert doctor("nothing_of_this_name").returncode == 2
assert dlpack_doctor.examine(numpy.zeros(3)).healthy
