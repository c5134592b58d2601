"""Importers that are broken on purpose, each in one way, as input for the conformance tool.
They use ctypes and the shared code of the tests, and import nothing of this project."""

import ctypes
import os
import time

import dlpack_structs as structs

_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.argtypes = [ctypes.py_object, ctypes.c_char_p]
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
USED = {
    "dltensor": ctypes.c_char_p(b"used_dltensor"),
    "dltensor_versioned": ctypes.c_char_p(b"used_dltensor_versioned"),
}


class Taken:
    """A tensor taken out of its capsule, with the deleter that the struct had at that time.
    """

    def __init__(self, x, rename=True):
        self.capsule = x.__dlpack__(max_version=(1, 0))
        self.name = structs.name(self.capsule)
        self.address = structs._get_pointer(self.capsule, self.name.encode())
        self.managed = structs.STRUCTS[self.name].from_address(self.address)
        self.deleter = self.managed.deleter
        if rename:
            _set_name(self.capsule, USED[self.name])

    def delete(self):
        """Calls the deleter if it is not NULL."""
        if self.deleter:
            _Deleter(self.deleter)(self.address)

    @property
    def tensor(self):
        """The `DLTensor`."""
        return self.managed.dl_tensor


class Handed:
    """Forwards the capsule of another producer."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **keywords):
        return self.x.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def takes_everything(x):
    """Accepts every struct without validation and follows no pointer."""
    taken = Taken(x)
    taken.delete()
    return None


def refuses_everything(x):
    """Rejects every tensor and leaks nothing."""
    raise BufferError("no")


def asks_for_nothing(x):
    """Treats its argument as a tensor that is already imported."""
    return 42


def wants_two(x, stream):
    """Takes one argument too many."""


# Not a function.
NUMBER = 3


def panics(x):
    """Raises an exception that `except Exception` does not catch."""

    class PanicException(BaseException):
        pass

    raise PanicException("a panic")


def crashes(x):
    """Calls abort()."""
    os.abort()


def crashes_with_a_trace(x):
    """Aborts as a failed check of a C++ library does."""
    lines = ["Check failed: rank <= 8", "*** stack trace: ***", "    @     0x7f00  call"]
    os.write(2, "\n".join(lines).encode() + b"\n")
    os.abort()


def exits(x):
    """Exits the process normally."""
    os._exit(7)


def hangs(x):
    """Never returns."""
    while True:
        time.sleep(1)


def hangs_and_says_so(x):
    """Creates a file when it starts, and never returns."""
    open(os.environ["DLPACK_HANGS"], "w").close()
    hangs(x)


def leaks(x):
    """Takes the tensor and never calls the deleter."""
    Taken(x)


def deletes_twice(x):
    """Calls the deleter once too often."""
    taken = Taken(x)
    taken.delete()
    taken.delete()


def forgets_to_rename(x):
    """Takes the tensor without renaming the capsule, so that the capsule calls the deleter
    again."""
    Taken(x, rename=False).delete()


def deletes_what_was_taken(x):
    """Ignores the name of a capsule."""
    capsule = x.__dlpack__(max_version=(1, 0))
    name = structs.name(capsule)
    if not name.startswith("used_"):
        raise BufferError("no")
    address = structs._get_pointer(capsule, name.encode())
    struct = structs.STRUCTS[name.removeprefix("used_")]
    _Deleter(struct.from_address(address).deleter)(address)


def reads_after_delete(x):
    """Reads the struct after the deleter has run."""
    taken = Taken(x)
    taken.delete()
    return taken.tensor.ndim


def reads_too_far(x):
    """Reads one entry more of `shape` than `ndim` states."""
    taken = Taken(x)
    try:
        return taken.tensor.shape[taken.tensor.ndim]
    finally:
        taken.delete()


def follows_null(x):
    """Reads the first dimension without a check of the pointer."""
    taken = Taken(x)
    shape = ctypes.cast(taken.tensor.shape, ctypes.c_void_p).value or 0
    try:
        return ctypes.c_int64.from_address(shape).value
    finally:
        taken.delete()


def crashes_in_two_ways(x):
    """Dereferences `shape` if it is NULL, and aborts otherwise."""
    follows_null(x)
    os.abort()


def follows_the_context(x):
    """Reads memory behind the producer's `manager_ctx`."""
    taken = Taken(x)
    context = taken.managed.manager_ctx
    try:
        return ctypes.c_char.from_address(context).value if context else None
    finally:
        taken.delete()


def leaks_without_a_context(x):
    """Treats a NULL `manager_ctx` as a missing deleter."""
    taken = Taken(x)
    if taken.managed.manager_ctx:
        taken.delete()


def forgets_the_offset(x):
    """Ignores `byte_offset`: uses `data` as the address of the first element."""
    taken = Taken(x)
    tensor = taken.tensor
    numbers = (ctypes.c_int32 * tensor.shape[0]).from_address(tensor.data)

    class Copied:
        """The elements, read through NumPy."""

        def __init__(self, values):
            import numpy

            self.array = numpy.array(values, "int32")

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return (1, 0)

    copied = Copied(list(numbers))
    taken.delete()
    return copied


def asks_for_legacy(x):
    """Ignores versions."""
    return x.__dlpack__()


LATER = []


def deletes_again_later(x):
    """Calls the deleter, and calls it again when the next tensor is imported."""
    for taken in LATER:
        taken.delete()
    LATER.clear()
    taken = Taken(x)
    taken.delete()
    LATER.append(taken)


COUNT = [0]


def crashes_in_company(x):
    """Crashes on the second tensor, valid or not."""
    COUNT[0] += 1
    if COUNT[0] > 1:
        os.abort()
    taken = Taken(x)
    taken.delete()
