"""
Functions over arrays.
"""
from typing import Protocol
from typing import TypeAlias
from typing import TypeVar

class _HasDLPack(Protocol):
    def __dlpack__(self) -> Any: ...

_SupportsDLPack: TypeAlias = NDArray[Any] | _HasDLPack

_Array = TypeVar("_Array", bound=_SupportsDLPack)


from _typeshed import Incomplete
from numpy import float32, float64, uint32, void
from numpy.typing import ArrayLike, NDArray
from typing import Annotated, Any, SupportsFloat, SupportsIndex, final

__all__ = ["Mesh", "Particles", "add", "axpy", "bits", "clamp", "energy", "heaviest", "hypot", "is_finite", "largest", "means", "normalized", "peaks", "row_norms", "scale_masses", "times", "total_mass", "transposed"]

@final
class Mesh:
    """
    A mesh of triangles. Its arrays share their memory with NumPy.
    """
    def __new__(cls, /, vertices: ArrayLike, faces: ArrayLike) -> Mesh:
        """
        `Mesh(vertices: float32[n, 3], faces: uint32[m, 3])`
        """
    @property
    def faces(self, /) -> NDArray[uint32]: ...
    @property
    def vertices(self, /) -> NDArray[float32]: ...

@final
class Particles:
    """
    Particles, whose memory is shared with NumPy, PyTorch and every other library.
    """
    def __new__(cls, /, records: NDArray[void]) -> Particles:
        """
        `Particles(records: Particle[n])`
        """
    @property
    def mass(self, /) -> NDArray[float32]:
        """
        The mass of each particle, float32[n], over the same memory.
        """
    def position(self, /, like: Any) -> Any:
        """
        `position(like) -> float32[n, 3]`

        Returns the positions over the same memory, as an array of the library of `like`.
        """
    @property
    def records(self, /) -> NDArray[void]:
        """
        A structured array of NumPy.
        """

def add(x: Annotated[_SupportsDLPack, "any dtype", "1 dimension"], y: Annotated[_SupportsDLPack, "any dtype", "1 dimension"]) -> None:
    """
    `add(x: float32[n] | float64[n], y: the dtype of x)`

    Adds `y` to `x` in place.
    """

def axpy(kernel: Any, a: SupportsFloat | SupportsIndex, x: Annotated[_Array, "float32", "1 dimension"], y: Annotated[_SupportsDLPack, "float32", "1 dimension"]) -> _Array:
    """
    `axpy(kernel, a: float, x: float32[...], y: float32[...]) -> float32[...]`

    Returns `a * x + y`, computed by `kernel` on the queue of `x`, as an array of its library.

    The kernel is a `dpctl.program.SyclKernel` with the arguments of
    `axpy(float a, const float *x, const float *y, float *out)`. That its arguments are these is
    not checked, as no launch of a kernel can check it.
    """

def bits(x: Annotated[_SupportsDLPack, "float32", "1 dimension"] | Annotated[_SupportsDLPack, "float64", "1 dimension"]) -> int:
    """
    `bits(x: float32[n] | float64[n]) -> int`

    Returns the number of bits of all elements.
    """

def clamp(array: Annotated[_SupportsDLPack, "any dtype", "any dimensions"], low: SupportsFloat | SupportsIndex, high: SupportsFloat | SupportsIndex) -> None:
    """
    `clamp(array: float32[...] | float64[...], low: float, high: float)`

    Limits each element of a float32 or float64 array to the range from `low` to `high`, in
    place.
    """

def energy(x: Annotated[_SupportsDLPack, "any dtype", "any dimensions"]) -> float:
    """
    `energy(x: real[...]) -> float`

    Returns the sum of the squares, computed in `float32`, of any integers and floats.
    """

def heaviest(particles: NDArray[void], count: SupportsIndex) -> NDArray[void]:
    """
    `heaviest(particles: Particle[n], count: int) -> Particle[count]`

    Returns the heaviest particles, in descending order.
    """

def hypot(x: ArrayLike, y: ArrayLike, *, out: Annotated[_SupportsDLPack, "any dtype", "any dimensions"] | None = None, threads: SupportsIndex = 1) -> Any:
    """
    `hypot(x, y, *, out=None, threads=1)`

    Returns the length of the hypotenuse of each pair, in the library of the first array. Arrays are
    broadcast; `float16` and `float32` are computed in `float32`, other numbers in `float64`.
    """

def is_finite(x: Annotated[_SupportsDLPack, "float32", "1 dimension"]) -> Any:
    """
    `is_finite(x: float32[n]) -> bool[n]`

    Returns which elements are finite, in an array of the caller's library. A `PyLike` would have the type of
    `x` in the stub, with its dtype.
    """

def largest(x: Annotated[_SupportsDLPack, "any dtype", "1 dimension"]) -> float:
    """
    `largest(x: float32[n] | float64[n] | int32[n]) -> float`

    Returns the largest absolute value; 0 if there are no elements.
    """

def means(x: Annotated[_SupportsDLPack, "any dtype", "2 dimensions"]) -> list[float]:
    """
    `means(x: number[rows, columns]) -> list[float]`

    Returns the mean of each row of a matrix of any numeric dtype whose values a `float64` can have.
    """

def normalized(matrix: Annotated[_Array, "float32", "2 dimensions"]) -> _Array:
    """
    `normalized(matrix: float32[rows, columns]) -> float32[rows, columns]`

    Returns a float32 matrix whose rows have norm 1, in an array of the caller's library.
    Rows of zeros stay as they are.
    """

def peaks(signal: Annotated[_SupportsDLPack, "float32", "1 dimension"]) -> Incomplete:
    """
    `peaks(signal: float32[n]) -> {"positions": int64[m], "heights": float32[m]}`

    Returns the elements that are larger than both neighbours.
    """

def row_norms(matrix: Annotated[_Array, "float32", "2 dimensions"]) -> _Array:
    """
    `row_norms(matrix: float32[rows, columns]) -> float32[rows]`

    Returns the Euclidean norm of each row of a float32 matrix, in an array of the caller's
    library.
    """

def scale_masses(particles: NDArray[void], factor: SupportsFloat | SupportsIndex) -> None:
    """
    `scale_masses(particles: Particle[n], factor: float)`

    Multiplies the mass of each particle, in place.
    """

def times(matrix: Incomplete, x: Annotated[_SupportsDLPack, "float64", "1 dimension"]) -> NDArray[float64]:
    """
    `times(matrix: scipy.sparse.csr_matrix, x: float64[columns]) -> float64[rows]`

    Returns the product of a sparse matrix and a vector.
    """

def total_mass(particles: NDArray[void]) -> float:
    """
    `total_mass(particles: Particle[n]) -> float`
    """

def transposed(array: Annotated[_Array, "any dtype", "any dimensions"]) -> _Array:
    """
    `transposed(array: float32[...] | float64[...] | int64[...]) -> an array of the same dtype`

    Returns a copy of an array with its axes reversed, in an array of the caller's library. The
    result is a strided view of memory that Rust owns.
    """
