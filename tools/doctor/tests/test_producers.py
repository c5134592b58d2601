"""Objects of the installed libraries, through the command line: their facts, and their
deviations from the standard, which the tests pin as observed."""

import json
import os

import pytest
from conftest import doctor, oneapi, require

# How each makes two rows of three float32.
EXPRESSIONS = {
    "numpy": "np.zeros((2, 3), 'f4')",
    "torch": "torch.zeros(2, 3)",
    "jax": "jnp.zeros((2, 3))",
    "tvm_ffi": "tvm_ffi.from_dlpack(np.zeros((2, 3), 'f4'))",
    "array_api_strict": "array_api_strict.zeros((2, 3), dtype=array_api_strict.float32)",
    "onnxruntime": "onnxruntime.OrtValue.ortvalue_from_shape_and_type((2, 3), np.float32)",
    "cuda.core": "importlib.import_module('cuda.core.utils').StridedMemoryView.from_dlpack("
    "np.zeros((2, 3), 'f4'), -1)",
    "warp": "warp.zeros((2, 3), dtype=warp.float32, device='cpu')",
    "mlx": "mx.zeros((2, 3))",
    "paddle": "paddle.zeros([2, 3])",
    "tensorflow": "tf.zeros((2, 3))",
    "dpnp": "dpnp.zeros((2, 3), dtype='f4')",
}
# Their deviations: rules without `--live`, and checks with it.
RULES = {"paddle": {"device-odd"}}
STREAM_ONLY = {
    *("max_version=None", "max_version=(0, 8)", "max_version=(1, 0)", "max_version=(2, 0)"),
    *("dl_device=None, copy=None", "dl_device=own", "copy=False", "copy=True"),
    "copy=True, max_version=(1, 3)",
}
CHECKS = {
    # They know the keyword `stream` only.
    "onnxruntime": STREAM_ONLY,
    "warp": STREAM_ONLY | {"positional"},
    # A legacy request does not honour `copy=True`.
    "dpnp": {"copy=True"},
    # As above; and an attribute that is misspelt in its wrapper.
    "tvm_ffi": {"copy=True", "max_version=(0, 8)"},
    # They raise RuntimeError where the standard requires BufferError.
    "tensorflow": {"dl_device=own", "copy=True", "copy=True, max_version=(1, 3)"},
    # The copy has no flag.
    "torch": {"copy=True, max_version=(1, 3)"},
    "paddle": {"dl_device=own"},
}
# The newest struct that they export.
VERSIONS = {
    "numpy": [1, 0],
    "torch": [1, 3],
    "tvm_ffi": [1, 3],
    "array_api_strict": [1, 0],
    "paddle": [1, 3],
    "dpnp": [1, 3],
}
# Types with an exchange table, and the library that owns each slot.
TABLES = {"torch": "libtorch_python", "paddle": "libpaddle", "cuda.core": "_memoryview"}


@pytest.mark.parametrize("library", EXPRESSIONS)
def test_producer(library):
    require(library)
    ended = doctor("--json", "--live", EXPRESSIONS[library], **oneapi())
    assert ended.returncode in (0, 1), ended.stderr
    found = json.loads(ended.stdout)
    tensors = [one["answer"].get("tensor") for one in found["requests"]]
    tensors = [tensor for tensor in tensors if tensor]
    assert tensors and all(one["dtype_name"] == "float32" for one in tensors)
    assert all(one["shape"] == {"values": [2, 3]} for one in tensors)
    assert all(one["layout"]["row_major"] and one["layout"]["numel"] == 6 for one in tensors)
    if library in VERSIONS:
        assert tensors[0]["version"] == VERSIONS[library]
    rules = {one["rule"] for one in found["findings"] if one["severity"] != "note"}
    assert rules - {"live"} == RULES.get(library, set()), found["findings"]
    checks = {one["name"]: one["seen"] for one in found["checks"] if one["severity"] != "note"}
    assert set(checks) == CHECKS.get(library, set()), checks
    assert found["healthy"] == (not rules) == (ended.returncode == 0)
    ours = found["verdicts"][0]
    assert (ours["consumer"], ours["fit"]) == ("dlpack-traits", "same")
    check_table(found["table"], TABLES.get(library))


def check_table(table, owner):
    if owner is None:
        assert table is None
        return
    assert table["versions"] == [[1, 3]] and len(table["slots"]) == 5
    for slot in table["slots"]:
        assert owner in os.path.basename(slot["place"]["library"]), slot


def test_our_own_classes():
    require("dlpack_example")
    ended = doctor("--json", "--live", "dlpack_example.Tensor.zeros([4, 4, 3], 'uint8')")
    found = json.loads(ended.stdout)
    assert found["healthy"] and ended.returncode == 0, found["findings"]
    assert all("dlpack_example" in one["place"]["library"] for one in found["table"]["slots"])


def test_a_table_with_holes():
    """The wrapper that tvm-ffi tests with has no allocator and no borrowed views."""
    require("tvm_ffi")
    made = "tvm_ffi.core.DLTensorTestWrapper(tvm_ffi.from_dlpack(np.zeros(3)))"
    found = json.loads(doctor("--json", made).stdout)
    assert "table-slot" in {one["rule"] for one in found["findings"]}
