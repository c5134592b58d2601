"""Computes with memory that is not aligned to 64 bytes, in TensorFlow, which may
end the process."""

from sources import reference  # first: it says where the modules are
from grid import LAYOUTS  # isort: skip
from peers import TensorFlow  # isort: skip

if __name__ == "__main__":
    layout = next(layout for layout in LAYOUTS if layout.name == "offset")
    made = reference("float32", layout)
    # TensorFlow takes no byte offset.
    made.data, made.byte_offset = made.data + made.byte_offset, 0
    tensor = TensorFlow().take(made)
    assert (tensor + tensor).numpy().shape == layout.shape
