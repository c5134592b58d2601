"""The classes that the suite tests, and the facts about each that it needs. To test another
class, add a `Subject`. If a class is known to fail a check, list the check under the class
with the observed behaviour; the check is then required to fail."""

import importlib
import importlib.util

import dlpack_structs as structs
import pytest
from conftest import require

VALUES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
SHAPE = (2, 3)


class Subject:
    """A class whose objects are tensors of `VALUES` as float32, (2, 3)."""

    def __init__(self, name, make, writable=False, from_dlpack=None, deviations=None):
        self.name, self.make, self.writable = name, make, writable
        # The function that makes an object of the class from any tensor.
        self.from_dlpack = from_dlpack
        self.deviations = deviations or {}

    def __repr__(self):
        return self.name

    def address(self, tensor):
        """The address of an object's first element, according to its own export."""
        found = structs.Tensor(tensor.__dlpack__(max_version=(1, 0)))
        return (found.data or 0) + found.byte_offset


def testing_class(name, module="dlpack_testing"):
    """A class of one of our modules."""
    return getattr(importlib.import_module(module), name)


def testing(name):
    """An object of a class of the test module."""
    return lambda: testing_class(name)(VALUES, list(SHAPE))


def imported(name):
    """An object of a class of the test module that is made from tensors."""
    return lambda: testing_class(name).from_dlpack(testing("Writable")())


def example(**keywords):
    """An object of the example's general class."""
    module = importlib.import_module("dlpack_example")
    return lambda: module.Tensor([VALUES[:3], VALUES[3:]], "float32", **keywords)


def numpy_subject():
    """NumPy, which shows that the suite requires only what other libraries do too."""
    numpy = require("numpy")
    return Subject(
        "numpy",
        lambda: numpy.array(VALUES, "float32").reshape(SHAPE),
        writable=True,
        from_dlpack=numpy.from_dlpack,
        deviations=NUMPY,
    )


def torch_subject():
    """PyTorch, whose known deviations show that the suite detects failures."""
    torch = require("torch")
    return Subject(
        "torch",
        lambda: torch.tensor(VALUES).reshape(SHAPE),
        writable=True,
        from_dlpack=torch.from_dlpack,
        deviations=TORCH,
    )


# Seen with NumPy 2.4 and 2.5: it passes.
NUMPY = {}
# Seen with PyTorch 2.15.
TORCH = {
    "test_copy_true": "it copies, and does not set IS_COPIED",
    "test_defaults_are_none": "`stream` is -1, and there is a fifth keyword",
    "test_other_devices": "the error is the one of the device's library",
    "test_other_objects": "RuntimeError: it takes them for used capsules",
    "test_read_only_is_kept": "it has no read-only tensors, and forgets the flag",
    "test_other_major_versions": "RuntimeError",
}

SUBJECTS = {
    "owner of frozen memory": lambda: Subject("Frozen", testing("Frozen")),
    "owner of shared memory": lambda: Subject("Writable", testing("Writable"), True),
    "memory of the object": lambda: Subject("Single", testing("Single")),
    "example": lambda: Subject(
        "Tensor", example(), True, importlib.import_module("dlpack_example").from_dlpack
    ),
    "class method": lambda: Subject(
        "Tensor", example(), True, testing_class("Tensor", "dlpack_example").from_dlpack
    ),
    "example, read-only": lambda: Subject("Tensor", example(read_only=True)),
    "derives": lambda: Subject(
        "Derived", imported("Derived"), True, testing_class("Derived").from_dlpack
    ),
    "import by hand": lambda: Subject(
        "Floats", imported("Floats"), True, testing_class("Floats").from_dlpack
    ),
    "numpy": numpy_subject,
    "torch": torch_subject,
}


TAKERS = ("derives", "import by hand", "example", "class method", "numpy", "torch")


def on(names):
    """Runs a check on the classes of these names, without PyTorch if it is not installed;
    one test reports the omission for all checks."""
    absent = importlib.util.find_spec("torch") is None
    here = [name for name in names if not (absent and name == "torch")]
    return pytest.mark.parametrize("subject", here, indirect=True)


def producers():
    """Runs a check on every class."""
    return on(SUBJECTS)


def consumers():
    """Runs a check on every class that can be constructed from tensors."""
    return on(TAKERS)


@pytest.fixture
def subject(request):
    """The class of that name. If the class is known to fail the check, the check must fail.
    """
    found = SUBJECTS[request.param]()
    check = request.node.originalname
    if check in found.deviations:
        request.node.add_marker(pytest.mark.xfail(reason=found.deviations[check], strict=True))
    return found
