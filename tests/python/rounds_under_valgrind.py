"""Many exchanges in the interpreter that runs this, which valgrind watches.

`cargo xtask sanitize` runs it with the system's own Python, which has no other
packages: `python rounds_under_valgrind.py FOLDER_OF_THE_MODULE`.
"""

import gc
import sys

sys.path.insert(0, sys.argv[1])

import dlpack_testing as testing  # noqa: E402

CLASSES = (testing.Frozen, testing.Writable, testing.Single, testing.Growing)
ROUNDS = 30
raised = 0

for _ in range(ROUNDS):
    for cls in CLASSES:
        for max_version in (None, (1, 0)):
            tensor = cls([1.0, 2.0, 3.0])
            try:
                unused = tensor.__dlpack__(max_version=max_version)
                copied = tensor.__dlpack__(max_version=(1, 3), copy=True)
                del unused, copied
            except (BufferError, RuntimeError):
                raised += 1
        tensor = cls([1.0, 2.0, 3.0, 4.0])
        try:
            taken = testing.Floats.from_dlpack(tensor)
            again = testing.Floats.from_dlpack(taken)
            held = testing.import_tensor(again)
            del tensor, taken, again, held
        except (BufferError, RuntimeError):
            raised += 1
        try:
            testing.Floats.from_dlpack(object())
        except (AttributeError, TypeError):
            raised += 1
        else:
            sys.exit("an object without tensors was taken")
    gc.collect()

assert raised >= ROUNDS, raised
print(f"{ROUNDS} rounds, {raised} refusals")
