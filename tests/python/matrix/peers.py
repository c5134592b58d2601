"""The libraries, each through its own API: how it makes a tensor, how it imports one, and
how it describes the result."""

import importlib
import importlib.metadata
import os
import subprocess
import sys

import dlpack_structs as structs
from grid import DTYPES, ELEMENTS, byte_offset, image, split, width
from reference import Reference, aligned, gather
from sources import (
    NotMade,
    arrays,
    name_of,
    numpy_view,
    own_address,
    reference,
    row_major,
    strides_of,
)


class Seen:
    """A library's description of a tensor that it imported."""

    def __init__(self, address, shape, patterns, dtype, usable=True):
        self.address, self.shape, self.patterns = address, tuple(shape), patterns
        # The name of the element type; None where the library cannot say it.
        self.dtype, self.usable = dtype, usable


class Peer:
    """A library as producer and as consumer."""

    # What a consumer of its tensors must say to get them to the host.
    asks = {}
    # Whether its memory is aligned to 64 bytes.
    aligned = True

    def version(self):
        return importlib.metadata.version(self.package)


class NumPy(Peer):
    package = "numpy"

    def __init__(self):
        self.numpy = importlib.import_module("numpy")
        register = getattr(self.numpy.dtypes, "register_dlpack_dtype", None)
        for dtype in ("bfloat16", "float8_e4m3fn", "float8_e5m2") if register else ():
            register(DTYPES[dtype][:2], arrays(dtype))

    def make(self, dtype, layout):
        return numpy_view(dtype, layout)

    def take(self, tensor):
        return self.numpy.from_dlpack(tensor)

    def look(self, array, dtype):
        patterns = split(array.tobytes(), width(dtype))
        return Seen(array.ctypes.data, array.shape, patterns, str(array.dtype))


class Strict(Peer):
    package = "array-api-strict"

    def __init__(self):
        self.module = importlib.import_module("array_api_strict")
        self.numpy = NumPy()

    def make(self, dtype, layout):
        return self.module.from_dlpack(numpy_view(dtype, layout))

    def take(self, tensor):
        return self.module.from_dlpack(tensor)

    def look(self, array, dtype):
        seen = self.numpy.look(self.numpy.take(array), dtype)
        seen.dtype = str(array.dtype).removeprefix("array_api_strict.")
        return seen


class Torch(Peer):
    package = "torch"

    def __init__(self):
        self.torch = importlib.import_module("torch")

    def make(self, dtype, layout):
        torch = self.torch
        name = dtype.replace("fnx2", "fn_x2")
        kind = getattr(torch, name, None)
        if kind is None or layout.read_only or min(layout.strides, default=0) < 0:
            raise NotMade
        base = torch.frombuffer(bytearray(image(dtype)), dtype=torch.uint8).clone()
        return torch.as_strided(
            base.view(kind), layout.shape, layout.strides, layout.offset
        )

    def take(self, tensor):
        return self.torch.from_dlpack(tensor)

    def look(self, tensor, dtype):
        name = str(tensor.dtype).removeprefix("torch.").replace("fn_x2", "fnx2")
        patterns = gather(tensor.data_ptr(), tensor.shape, tensor.stride(), width(dtype))
        return Seen(tensor.data_ptr(), tensor.shape, patterns, name)


class TorchReadOnly(Torch):
    """`torch.utils.dlpack.ReadOnlyTensorWrapper`, which exports only, by a table of its own."""

    def make(self, dtype, layout):
        if not layout.read_only:
            raise NotMade
        tensor = super().make(dtype, layout._replace(read_only=False))
        return self.torch.utils.dlpack.ReadOnlyTensorWrapper(tensor)

    def look(self, wrapper, dtype):
        found = structs.Tensor(wrapper.__dlpack__(max_version=(1, 3)))
        patterns = gather(found.data, found.shape, found.strides, width(dtype))
        return Seen(found.data, found.shape, patterns, name_of(found.dtype))


class Jax(Peer):
    package = "jax"

    def __init__(self):
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_platforms", "cpu")
        self.jax.config.update("jax_enable_x64", True)

    def make(self, dtype, layout):
        return self.jax.numpy.asarray(row_major(dtype, layout))

    def take(self, tensor):
        return self.jax.dlpack.from_dlpack(tensor)

    def look(self, array, dtype):
        import numpy

        patterns = split(numpy.asarray(array).tobytes(), width(dtype))
        return Seen(
            array.unsafe_buffer_pointer(), array.shape, patterns, str(array.dtype)
        )


class TvmFfi(Peer):
    package = "apache-tvm-ffi"

    def __init__(self):
        self.module = importlib.import_module("tvm_ffi")

    def make(self, dtype, layout):
        if layout.read_only:
            raise NotMade
        return self.module.from_dlpack(reference(dtype, layout))

    def take(self, tensor):
        return self.module.from_dlpack(tensor)

    def look(self, tensor, dtype):
        try:
            name = str(tensor.dtype)
        except ValueError:
            name = None  # it cannot say "complex"
        address = tensor.data_ptr()
        patterns = gather(address, tensor.shape, tensor.strides, width(dtype))
        return Seen(address, tensor.shape, patterns, name)


class Paddle(Peer):
    package = "paddlepaddle"

    def __init__(self):
        self.paddle = importlib.import_module("paddle")

    def make(self, dtype, layout):
        if layout.read_only or min(layout.strides, default=0) < 0:
            raise NotMade
        whole = layout._replace(
            shape=(ELEMENTS,), strides=(1,), offset=0, read_only=False
        )
        base = self.paddle.from_dlpack(reference(dtype, whole))
        # It clones no unsigned integers but bytes.
        base = base if dtype in ("uint16", "uint32", "uint64") else base.clone()
        if layout.name == "no elements":
            return base[:0].reshape(layout.shape)
        offset = layout.offset * width(dtype) // 8
        return self.paddle.as_strided(base, layout.shape, layout.strides, offset)

    def take(self, tensor):
        return self.paddle.from_dlpack(tensor)

    def look(self, tensor, dtype):
        # It prints uint16 as bfloat16.
        name = name_of(structs.Tensor(tensor.__dlpack__(max_version=(1, 0))).dtype)
        address = tensor.data_ptr()
        patterns = gather(address, tensor.shape, tensor.strides, width(dtype))
        return Seen(address, tensor.shape, patterns, name)


class Mlx(Peer):
    package = "mlx"
    aligned = False

    def __init__(self):
        self.mx = importlib.import_module("mlx.core")
        self.mx.set_default_device(self.mx.cpu)

    def make(self, dtype, layout):
        import numpy

        mx = self.mx
        kind = getattr(mx, "bool_" if dtype == "bool" else dtype, None)
        if kind is None or width(dtype) < 8 or layout.read_only:
            raise NotMade
        flat = numpy.frombuffer(image(dtype), f"u{min(width(dtype) // 8, 8)}")
        base = mx.array(flat).view(kind)
        made = mx.as_strided(base, layout.shape, layout.strides, layout.offset)
        mx.eval(made)
        return made

    def take(self, tensor):
        return self.mx.from_dlpack(tensor)

    def look(self, array, dtype):
        import numpy

        mx = self.mx
        name = str(array.dtype).removeprefix("mlx.core.").rstrip("_")
        plain = getattr(mx, f"uint{array.dtype.size * 8}")
        compact = mx.contiguous(array)
        patterns = split(numpy.array(compact.view(plain)).tobytes(), width(dtype))
        return Seen(own_address(array), array.shape, patterns, name)


class TensorFlow(Peer):
    package = "tensorflow-cpu"

    def __init__(self):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        self.tf = importlib.import_module("tensorflow")
        self.tf.config.set_visible_devices([], "GPU")
        self.unaligned = None

    def make(self, dtype, layout):
        return self.tf.constant(row_major(dtype, layout))

    def take(self, tensor):
        # It accepts bare capsules only.
        return self.tf.experimental.dlpack.from_dlpack(tensor.__dlpack__())

    def look(self, tensor, dtype):
        address = own_address(tensor)
        name = tensor.dtype.name
        if address % 64 and 0 not in tensor.shape:
            patterns = gather(address, tensor.shape, strides_of(tensor.shape), width(dtype))
            return Seen(address, tensor.shape, patterns, name, self.takes_unaligned())
        patterns = split(tensor.numpy().tobytes(), width(dtype))
        return Seen(address, tensor.shape, patterns, name)

    def takes_unaligned(self):
        """Whether it can compute with memory that is not aligned to 64 bytes,
        tried once, in a process that this may end."""
        if self.unaligned is None:
            probe = [sys.executable, __file__.replace("peers.py", "unaligned.py")]
            ended = subprocess.run(probe, capture_output=True, timeout=300)
            self.unaligned = ended.returncode == 0
        return self.unaligned


class Arrow(Peer):
    """`pyarrow.Tensor`. A `pyarrow.Array` is the same for one dimension."""

    package = "pyarrow"

    def __init__(self):
        self.arrow = importlib.import_module("pyarrow")

    def make(self, dtype, layout):
        return self.arrow.Tensor.from_numpy(numpy_view(dtype, layout))

    def take(self, tensor):
        return self.arrow.Tensor.from_dlpack(tensor)

    def look(self, tensor, dtype):
        array = tensor.to_numpy()
        patterns = split(array.tobytes(), width(dtype))
        return Seen(array.ctypes.data, tensor.shape, patterns, str(array.dtype))


class OnnxRuntime(Peer):
    """`onnxruntime.OrtValue`, on the processor."""

    package = "onnxruntime"

    def __init__(self):
        self.value = importlib.import_module("onnxruntime").OrtValue

    def make(self, dtype, layout):
        # Memory of its own: an export of a value over a NumPy array does not keep the array
        # alive.
        array = row_major(dtype, layout)
        made = self.value.ortvalue_from_shape_and_type(array.shape, array.dtype.type)
        made.update_inplace(array)
        return made

    def take(self, tensor):
        return self.value.from_dlpack(tensor)

    def look(self, value, dtype):
        name = name_of(structs.Tensor(value.__dlpack__()).dtype)
        shape, address = value.shape(), value.data_ptr()
        patterns = gather(address, shape, strides_of(shape), width(dtype))
        return Seen(address, shape, patterns, name)


class CudaCore(Peer):
    """`cuda.core.utils.StridedMemoryView`, which is a view of the tensor that it took."""

    package = "cuda-core"

    def __init__(self):
        self.view = importlib.import_module("cuda.core.utils").StridedMemoryView

    def make(self, dtype, layout):
        return self.take(reference(dtype, layout))

    def take(self, tensor):
        # -1: without synchronization.
        view = self.view.from_dlpack(tensor, stream_ptr=-1)
        # It rejects an element type when this is read first.
        view.dtype  # noqa: B018
        return view

    def look(self, view, dtype):
        strides = view.strides or strides_of(view.shape)
        patterns = gather(view.ptr, view.shape, strides, width(dtype))
        return Seen(view.ptr, view.shape, patterns, str(view.dtype))


class Warp(Peer):
    """`warp.array`, on the processor."""

    package = "warp-lang"

    def __init__(self):
        self.warp = importlib.import_module("warp")
        self.warp.config.quiet = True
        self.warp.init()

    def make(self, dtype, layout):
        kind = getattr(self.warp, dtype, None)
        if kind is None or layout.read_only:
            raise NotMade
        owner, address = aligned(image(dtype))
        size = width(dtype) // 8
        made = self.warp.array(
            ptr=address + byte_offset(dtype, layout),
            dtype=kind,
            shape=layout.shape,
            strides=tuple(stride * size for stride in layout.strides),
            device="cpu",
        )
        made.owner = owner
        return made

    def take(self, tensor):
        return self.warp.from_dlpack(tensor)

    def look(self, array, dtype):
        name = array.dtype.__name__
        strides = [stride * 8 // width(dtype) for stride in array.strides]
        address = array.ptr or 0
        patterns = gather(address, array.shape, strides, width(dtype))
        return Seen(address, array.shape, patterns, name)


class Dpnp(Peer):
    package = "dpnp"
    # Its tensors are on a SYCL device, also where that is the processor.
    asks = {"device": (1, 0)}

    def __init__(self):
        runtime = os.path.join(sys.prefix, "lib", "libintelocl.so")
        os.environ.setdefault("OCL_ICD_FILENAMES", runtime)
        self.dpnp = importlib.import_module("dpnp")
        self.numpy = NumPy()

    def make(self, dtype, layout):
        import numpy

        if layout.read_only:
            raise NotMade
        flat = numpy.frombuffer(image(dtype), arrays(dtype))
        base = self.dpnp.asarray(flat)
        size = base.itemsize
        try:
            return self.dpnp.ndarray(
                layout.shape,
                base.dtype,
                buffer=base,
                offset=layout.offset,
                strides=[stride * size for stride in layout.strides],
            )
        except ValueError as error:
            raise NotMade from error

    def take(self, tensor):
        return self.dpnp.from_dlpack(tensor)

    def look(self, array, dtype):
        if not isinstance(array, self.dpnp.ndarray):
            # From a tensor that is not on one of its devices it makes a NumPy array.
            return self.numpy.look(array, dtype)
        patterns = split(self.dpnp.asnumpy(array).tobytes(), width(dtype))
        address = array.get_array()._pointer
        return Seen(address, array.shape, patterns, str(array.dtype))


class Nanobind(Peer):
    package = "nanobind"

    def __init__(self):
        self.module = importlib.import_module("nanobind_peer").load()
        self.taking = self.module.take

    def make(self, dtype, layout):
        owner, address = aligned(image(dtype))
        made = self.module.make(
            address + byte_offset(dtype, layout),
            list(layout.shape),
            list(layout.strides),
            *DTYPES[dtype],
            layout.read_only,
            owner,
        )
        return made

    def take(self, tensor):
        return self.taking(tensor)

    def look(self, taken, dtype):
        patterns = gather(taken.address, taken.shape, taken.strides, width(dtype))
        return Seen(taken.address, taken.shape, patterns, name_of(taken.dtype))


class NanobindReadOnly(Nanobind):
    """Requests the legacy capsule first, and cannot write."""

    def __init__(self):
        super().__init__()
        self.taking = self.module.take_read_only


class ReferencePeer(Peer):
    """The producer made of ctypes: it makes every tensor."""

    def version(self):
        return ""

    def make(self, dtype, layout):
        return reference(dtype, layout)


class Ours(Peer):
    """The class under test."""

    package = "dlpack_example"

    def __init__(self):
        self.module = importlib.import_module("dlpack_example")

    def version(self):
        return ""

    def make(self, dtype, layout):
        return self.take(reference(dtype, layout))

    def take(self, tensor, **asks):
        return self.module.from_dlpack(tensor, **asks)

    def look(self, tensor, dtype):
        address = tensor.data_ptr
        patterns = gather(address, tensor.shape, tensor.strides, width(dtype))
        return Seen(address, tensor.shape, patterns, tensor.dtype)


# In the order in which they can be imported into one process: TensorFlow before
# Paddle ends it.
PEERS = {
    "reference": ReferencePeer,
    "dlpack_example": Ours,
    "numpy": NumPy,
    "torch": Torch,
    "torch ro": TorchReadOnly,
    "jax": Jax,
    "tvm_ffi": TvmFfi,
    "nanobind": Nanobind,
    "nanobind ro": NanobindReadOnly,
    "array_api_strict": Strict,
    "mlx": Mlx,
    "paddle": Paddle,
    "tensorflow": TensorFlow,
    "pyarrow": Arrow,
    "onnxruntime": OnnxRuntime,
    "cuda.core": CudaCore,
    "warp": Warp,
    "dpnp": Dpnp,
}
