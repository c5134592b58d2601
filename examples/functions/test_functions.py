"""What Python users of the module rely on. Run by `cargo xtask example functions`."""

import pydoc
import sys

import array_functions
import numpy as np
import pytest


def test_help_shows_dtype_and_shape():
    text = pydoc.plain(pydoc.render_doc(array_functions.row_norms))
    assert "row_norms(matrix: float32[rows, columns]) -> float32[rows]" in text


def test_row_norms():
    matrix = np.array([[3, 4], [6, 8], [0, 0]], np.float32)
    for layout in [matrix, np.asfortranarray(matrix), matrix[::-1][::-1]]:
        norms = array_functions.row_norms(layout)
        assert type(norms) is np.ndarray
        assert norms.tolist() == [5, 10, 0]
    assert array_functions.row_norms(np.zeros((2, 0), np.float32)).tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clamp_changes_the_array_of_the_caller(dtype):
    array = np.arange(12, dtype=dtype).reshape(3, 4)
    array_functions.clamp(array[:, ::2], 2, 8)
    assert array.tolist() == [[2, 1, 2, 3], [4, 5, 6, 7], [8, 9, 8, 11]]


def test_clamp_limits_values_as_numpy_does():
    values = np.array([np.nan, -np.inf, -1, 0.5, 2, np.inf], np.float32)
    for low, high in [(0, 1), (1, 0)]:
        array = values.copy()
        array_functions.clamp(array, low, high)
        np.testing.assert_array_equal(array, np.clip(values, low, high))


def test_normalized_returns_a_new_matrix():
    matrix = np.array([[3, 4], [0, 0]], np.float32)
    result = array_functions.normalized(matrix)
    np.testing.assert_allclose(result, [[0.6, 0.8], [0, 0]], rtol=1e-6)
    assert result.flags.writeable
    assert matrix.tolist() == [[3, 4], [0, 0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 0, 4), (2, 3, 4)])
def test_transposed_is_a_view_of_a_copy(dtype, shape):
    array = np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)
    result = array_functions.transposed(array)
    np.testing.assert_array_equal(result, array.T, strict=True)
    assert result.flags.writeable and not np.shares_memory(result, array)
    assert result.flags.f_contiguous


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_one_body_serves_several_dtypes(dtype):
    x = np.array([[1, -5, 3], [0, 9, 0]], dtype)
    assert array_functions.largest(x[0]) == 5
    assert array_functions.largest(x[0, ::-1][:2]) == 5
    assert array_functions.largest(x[0, :0]) == 0


def test_other_dtypes_and_ranks_are_named():
    with pytest.raises(TypeError, match="'x': expected float32, float64 or int32, got uint8; .*'float32'"):
        array_functions.largest(np.zeros(3, np.uint8))
    with pytest.raises(ValueError, match="expected 1 dimension"):
        array_functions.largest(np.zeros((2, 2), np.float32))


def test_an_enum_of_arguments_works_and_lists_the_error_of_each_variant():
    assert array_functions.bits(np.zeros(3, np.float32)) == 96
    assert array_functions.bits(np.zeros(3)) == 192
    with pytest.raises(TypeError, match="Single.*expected float32, got int64[^$]*Double.*expected float64"):
        array_functions.bits(np.zeros(3, np.int64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arguments_have_one_dtype(dtype):
    x = np.arange(4, dtype=dtype)
    array_functions.add(x[::2], np.full(2, 10, dtype))
    assert x.tolist() == [10, 1, 12, 3]
    other = np.float64 if dtype == np.float32 else np.float32
    name = np.dtype(dtype).name
    with pytest.raises(TypeError, match=f"'y': expected {name}, got {np.dtype(other).name}"):
        array_functions.add(x, np.zeros(4, other))
    with pytest.raises(TypeError, match="'x': expected float32 or float64, got int64"):
        array_functions.add(np.zeros(4, np.int64), x)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "f2", "f4", "f8"])
def test_numbers_are_converted_while_they_are_read(dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    for layout in [x, np.asfortranarray(x), x[::-1], x[:, ::2]]:
        np.testing.assert_allclose(array_functions.means(layout), layout.mean(1, dtype=float))
    assert array_functions.energy(x) == (x.astype(float) ** 2).sum()


def test_a_conversion_that_loses_values_is_asked_for():
    with pytest.raises(TypeError, match="expected float64, got int64"):
        array_functions.means(np.zeros((2, 2), np.int64))
    assert array_functions.energy(np.array([3, 4])) == 25
    with pytest.raises(TypeError, match="expected float32, got complex128"):
        array_functions.energy(np.array([3j]))


def test_a_result_of_another_dtype():
    x = np.array([1, np.inf, np.nan], np.float32)
    assert array_functions.is_finite(x).tolist() == [True, False, False]
    torch = pytest.importorskip("torch")
    assert array_functions.is_finite(torch.from_numpy(x)).dtype == torch.bool


def test_types_of_pytorch_are_converted():
    torch = pytest.importorskip("torch")
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    for dtype in [torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2]:
        assert array_functions.means(x.to(dtype)) == [1.5, 4]
    assert array_functions.energy(x.to(torch.bfloat16).T) == 39
    assert array_functions.largest(-x[1]) == 5


def test_a_class_has_several_arrays():
    vertices = np.arange(12, dtype=np.float32).reshape(4, 3)
    faces = np.array([[0, 1, 2], [1, 2, 3]], np.uint32)
    mesh = array_functions.Mesh(vertices[::-1], faces)
    np.testing.assert_array_equal(mesh.vertices, vertices[::-1], strict=True)
    np.testing.assert_array_equal(mesh.faces, faces, strict=True)
    mesh.vertices[0, 0] = 42
    assert mesh.vertices[0, 0] == 42 and vertices[3, 0] == 9
    kept = mesh.faces
    del mesh
    assert kept.tolist() == faces.tolist()
    by_columns = array_functions.Mesh(np.asfortranarray(vertices, "f8"), np.asfortranarray(faces))
    assert by_columns.vertices.tolist() == vertices.tolist()
    assert by_columns.faces.tolist() == faces.tolist()
    with pytest.raises(ValueError, match="'faces': expected indices of the 4 vertices"):
        array_functions.Mesh(vertices, faces + 1)
    with pytest.raises(ValueError, match="got shape .4, 2.[^$]*'vertices'"):
        array_functions.Mesh(vertices[:, :2], faces)


def test_a_struct_of_arguments_takes_a_matrix_of_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.array([[0, 2.5, 0], [0, 0, 0], [1, 0, -3]])
    x = np.array([1, 10, 100.0])
    for matrix in [sparse.csr_matrix(dense), sparse.csr_array(dense)]:
        np.testing.assert_array_equal(array_functions.times(matrix, x), dense @ x)
    matrix.indices[0] = 3
    with pytest.raises(ValueError, match="valid indices"):
        array_functions.times(matrix, x)
    with pytest.raises(TypeError, match="field Csr.data") as error:
        array_functions.times(sparse.csr_matrix(dense.astype(np.float32)), x)
    assert "expected float64, got float32" in str(error.value.__cause__)
    with pytest.raises((AttributeError, TypeError), match="indices"):
        array_functions.times(sparse.coo_matrix(dense), x)


def test_a_struct_of_results_is_a_dict():
    found = array_functions.peaks(np.array([0, 3, 1, 1, 2, 0], np.float32))
    assert sorted(found) == ["heights", "positions"]
    assert found["positions"].tolist() == [1, 4] and found["heights"].tolist() == [3, 2]
    assert found["positions"].dtype == np.int64 and found["heights"].flags.writeable


def test_pytorch_gets_tensors():
    torch = pytest.importorskip("torch")
    matrix = torch.tensor([[3.0, 4.0], [6.0, 8.0]])
    norms = array_functions.row_norms(matrix.T.contiguous().T)
    assert torch.equal(norms, torch.tensor([5.0, 10.0]))
    assert type(array_functions.normalized(matrix)) is torch.Tensor
    assert torch.equal(array_functions.transposed(matrix), matrix.T)
    array_functions.clamp(matrix, 4, 6)
    assert matrix.tolist() == [[4, 4], [6, 6]]


@pytest.mark.parametrize(
    "wrong, exception, message",
    [
        (np.zeros((2, 2)), TypeError, "expected float32, got float64"),
        (np.zeros(2, np.float32), ValueError, "expected 2 dimensions, got 1"),
        ([[1.0]], TypeError, "list"),
    ],
)
def test_other_arguments_raise(wrong, exception, message):
    for function in [array_functions.row_norms, array_functions.normalized]:
        with pytest.raises(exception, match=message):
            function(wrong)


def test_read_only_arrays_are_not_changed():
    array = np.zeros(2)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        array_functions.clamp(array, 1, 2)
    assert array.tolist() == [0, 0]
    with pytest.raises(TypeError) as raised:
        array_functions.clamp(np.zeros(2, np.int64), 1, 2)
    assert str(raised.value).startswith(
        "argument 'array': expected float32 or float64, got int64; the function changes the "
        "tensor in place, so keep the converted copy; convert with `.astype('float64')`"
    )


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))


PARTICLE = np.dtype([("position", "f4", (3,)), ("mass", "f4"), ("id", "u4")])


def particles(count=4):
    records = np.zeros(count, PARTICLE)
    records["mass"] = np.arange(count) + 0.5
    records["id"] = range(count)
    records["position"] = records["mass"][:, None]
    return records


def test_records_are_read_in_any_layout():
    records = particles()
    read_only = particles()
    read_only.flags.writeable = False
    grid = particles(6).reshape(2, 3)
    for array in [records, records[::2], records[::-1], records[:0], read_only, grid[:, 1]]:
        assert array_functions.total_mass(array) == array["mass"].sum()
    packed = np.zeros(3, "i1, V20")["f1"].view(PARTICLE)  # unaligned, with gaps
    packed["mass"] = 1.5
    assert array_functions.total_mass(packed) == 4.5
    assert array_functions.total_mass(np.rec.array(records)) == 8
    assert array_functions.total_mass(np.broadcast_to(records[1], 3)) == 4.5


def test_records_are_changed_in_place():
    records = particles()
    array_functions.scale_masses(records[::-2], 2)
    assert records["mass"].tolist() == [0.5, 3, 2.5, 7]
    assert records["id"].tolist() == [0, 1, 2, 3]
    records.flags.writeable = False
    with pytest.raises(ValueError, match="writ"):
        array_functions.scale_masses(records, 2)


def test_results_are_structured_arrays():
    heaviest = array_functions.heaviest(particles(), 2)
    assert (heaviest.dtype, heaviest.shape) == (PARTICLE, (2,))
    assert heaviest["id"].tolist() == [3, 2]
    heaviest["id"] = 0
    assert array_functions.heaviest(particles(), 0).shape == (0,)


def test_fields_of_a_class_share_its_memory():
    owner = array_functions.Particles(particles())
    records, mass = owner.records, owner.mass
    assert (records.dtype, mass.dtype, mass.strides) == (PARTICLE, np.float32, (20,))
    mass[1] = 9
    assert records["mass"].tolist() == [0.5, 9, 2.5, 3.5]
    records["position"][2] = [1, 2, 3]
    assert owner.position(np).tolist()[2] == [1, 2, 3]
    assert np.shares_memory(records, mass)
    assert np.shares_memory(records["id"], owner.records)
    del owner, records
    assert mass.tolist() == [0.5, 9, 2.5, 3.5]


def test_fields_are_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    owner = array_functions.Particles(particles())
    position = owner.position(torch.Tensor)
    assert (position.shape, position.stride()) == ((4, 3), (5, 1))
    position[3] = torch.tensor([4.0, 5.0, 6.0])
    assert owner.records["position"][3].tolist() == [4, 5, 6]
    assert torch.from_numpy(owner.mass).sum() == 8


@pytest.mark.parametrize(
    "dtype, difference",
    [
        ("f4", "the elements are float32, without fields"),
        ([("mass", "f4")], "field 0 is `mass` and not `position`"),
        (PARTICLE.descr[:2], "the field `id` is missing"),
        ([*PARTICLE.descr, ("more", "f4")], "there is a further field `more`"),
        ([("position", "f4", (3,)), ("mass", "f8"), ("id", "u4")], "`mass` is float64 and not float32"),
        ([("position", "f4", (3,)), ("mass", ">f4"), ("id", "u4")], "`mass` is >f4 and not float32"),
        ([("position", "f4", (4,)), ("mass", "f4"), ("id", "u4")], "`position` has the shape [4] and not [3]"),
        ([("position", "f4"), ("mass", "f4"), ("id", "u4")], "`position` has the shape [] and not [3]"),
        ([("position", "f4", (3,)), ("mass", "O"), ("id", "u4")], "`mass` is object and not float32"),
        ([("position", "f4", (3,)), ("mass", "f4"), ("id", [("x", "u4")])], "`id` is [('x', '<u4')] and not uint32"),
        (
            {
                "names": ["position", "mass", "id"],
                "formats": [("f4", (3,)), "f4", "u4"],
                "offsets": [0, 12, 20],
            },
            "`id` is at byte 20 and not 16",
        ),
        (
            {
                "names": ["position", "mass", "id"],
                "formats": [("f4", (3,)), "f4", "u4"],
                "itemsize": 24,
            },
            "a record has 24 bytes and not 20",
        ),
    ],
)
def test_the_first_difference_is_named(dtype, difference):
    with pytest.raises(TypeError) as error:
        array_functions.total_mass(np.zeros(2, dtype))
    fields = "{position: float32[3], mass: float32, id: uint32}"
    expected = f"expected an array with the fields {fields}, got one where {difference}"
    assert expected in str(error.value)


def test_other_arguments_are_refused():
    with pytest.raises(TypeError, match="expected a structured array of NumPy .* `list`"):
        array_functions.total_mass([1])
    with pytest.raises(TypeError, match="expected a structured array of NumPy .* `void`"):
        array_functions.total_mass(particles()[0])
    with pytest.raises(ValueError, match="expected records with 1 dimensions, got 2"):
        array_functions.total_mass(particles().reshape(2, 2))


def test_masked_records_are_refused():
    masked = np.ma.array(particles())
    assert array_functions.total_mass(masked) == 8
    masked["mass"][1] = np.ma.masked
    with pytest.raises(TypeError, match="without masked elements"):
        array_functions.total_mass(masked)
    with pytest.raises(TypeError, match="without a mask"):
        array_functions.scale_masses(np.ma.array(particles()), 2)


def test_hypot_of_elements():
    x, y = np.array([[3], [6]]), np.array([4, 8], np.float32)
    expected = np.hypot(x, y)
    result = array_functions.hypot(x, y, threads=2)
    assert (result.dtype, result.tolist()) == (expected.dtype, expected.tolist())
    out = np.zeros(2, np.float32)
    assert array_functions.hypot(y, 3, out=out) is out
    assert out.tolist() == np.hypot(y, np.float32(3)).tolist()
    with pytest.raises(TypeError, match="expected float32 or float64, got complex128"):
        array_functions.hypot(y, 1j)
