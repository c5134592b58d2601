"""Columns, frames and quantities of other libraries as arguments: what they are is decided by
their types, which have a Python `__getattr__`."""

import collections
import decimal
import itertools
import re
import weakref

import dlpack_testing as testing
import pytest
from conftest import require, run_in_a_new_process
from dlpack_testing import arguments

np = require("numpy")


def pandas_series(values):
    return require("pandas").Series(values, dtype="float64")


def pandas_frame(values):
    return require("pandas").DataFrame({"a": values}, dtype="float64")


def polars_series(values):
    return require("polars").Series("a", values, dtype=require("polars").Float64)


def polars_frame(values):
    return require("polars").DataFrame({"a": values})


def xarray_array(values):
    return require("xarray").DataArray(np.array(values))


OF = [pandas_series, pandas_frame, polars_series, polars_frame, xarray_array]


@pytest.mark.parametrize("of", OF)
def test_a_column_is_not_a_tensor(of):
    """The message advises an expression that works."""
    x = of([1.0, 2.5])
    for function, error in [(testing.import_tensor, AttributeError), (arguments.floats, TypeError)]:
        with pytest.raises(error, match="which is not a tensor: it has no `__dlpack__`") as raised:
            function(x)
        assert type(raised.value) is error and raised.value.__cause__ is None
        [advice] = re.findall("; pass `(.+)`$", str(raised.value).split("\n")[0])
        made = eval(advice, {"numpy": np, "x": x})
        assert testing.import_tensor(made).facts()[2] == str(made.dtype)
        if function is arguments.floats:
            assert arguments.floats(made) == [1, 2.5]
    with pytest.raises(TypeError, match="changes its argument in place"):
        arguments.writable(x)


@pytest.mark.parametrize("of", OF)
def test_a_column_is_converted(of):
    values, _ = arguments.convert_floats(of([1.0, 2.5]))
    assert values == [1, 2.5]
    assert arguments.convert_any(of([1.0, 2.5]))[0] == "float64"


def test_a_column_of_text_is_not_converted():
    pandas = require("pandas")
    for given in [pandas.Series(["a"]), pandas.Series([object()]), pandas.DataFrame({"a": ["b"]})]:
        with pytest.raises(TypeError, match="expected float32, got .*; pass numbers"):
            arguments.convert_floats(given)
    with pytest.raises(TypeError, match="; pass a tensor, such as"):
        arguments.floats(pandas.Series([object()]))


# Their types do not state that NumPy raises, or makes text.
NOT_OF_NUMBERS = [
    lambda: require("xarray").Dataset({"a": ("x", [1.0])}),
    lambda: require("polars").Series([[1.0], [1.0, 2.0]]),
    lambda: require("jax").random.key(0),
    lambda: [[1.0], [1.0, 2.0]],
    lambda: [object()],
]


@pytest.mark.parametrize("of", NOT_OF_NUMBERS)
def test_a_conversion_that_fails_is_not_advised(of):
    given = of()
    with pytest.raises(TypeError, match="; pass a tensor, such as"):
        arguments.floats(given)
    with pytest.raises(AttributeError, match="; pass a tensor, such as"):
        testing.import_tensor(given)


def test_a_column_with_missing_values():
    """As pandas converts them."""
    pandas = require("pandas")
    values, _ = arguments.convert_floats(pandas.Series([1, None], dtype="Int64"))
    assert values[0] == 1 and np.isnan(values[1])


def nullable_columns():
    pandas, polars = require("pandas"), require("polars")
    of_pandas = pandas.array([1, None], dtype="Int64")
    yield from [of_pandas, pandas.Series(of_pandas), pandas.DataFrame({"a": of_pandas})["a"]]
    yield pandas.Index(of_pandas)
    yield polars.Series([1, None])


def test_missing_values_are_not_integers():
    """The message advises an expression that is converted."""
    for x in nullable_columns():
        with pytest.raises(TypeError, match="expected uint8, got .* with missing values") as raised:
            arguments.convert_bytes(x)
        [advice] = re.findall(r"`(x\.[^`]*)`", str(raised.value))
        assert arguments.convert_bytes(eval(advice, {"x": x})) == [1, 0]
        with pytest.raises(TypeError, match="not a tensor.*a value for missing ones") as raised:
            arguments.bytes(x)
        [advice] = re.findall(r"`(numpy\.[^`]*)`", str(raised.value))
        assert arguments.bytes(eval(advice, {"numpy": np, "x": x})) == [1, 0]
        values = arguments.converted(x, "float64")
        assert values[0] == 1 and np.isnan(values[1])


def test_missing_values_are_no_exponents():
    """As operands of a function of elements."""
    for x in nullable_columns():
        with pytest.raises(TypeError, match="expected int32, got .* with missing values") as raised:
            testing.elementwise.power(2.0, x)
        [advice] = re.findall(r"`(x\.[^`]*)`", str(raised.value))
        filled = eval(advice, {"x": x})
        assert testing.elementwise.power(2.0, np.asarray(filled, "int32")).tolist() == [2, 1]
    with pytest.raises(TypeError, match="expected int32, got int64; convert"):
        testing.elementwise.power(2.0, require("pandas").Series([1, 2]))


def test_a_frame_of_nullable_columns():
    """pandas makes objects of all of its elements, and numbers of each column."""
    pandas = require("pandas")
    frame = pandas.DataFrame({"a": [1, None, 3], "b": [4, 5, 6], "c": [True, False, True]})
    for x in [frame.convert_dtypes(), frame.convert_dtypes()[["a", "b"]]]:
        assert np.asarray(x).dtype == object
        values = arguments.converted(x, "float64")
        np.testing.assert_array_equal(values, x.astype("float64").to_numpy("float64", na_value=np.nan))
        with pytest.raises(TypeError, match="expected int64, got .* with missing values") as raised:
            arguments.converted(x, "int64")
        [advice] = re.findall(r"`(x\.[^`]*)`", str(raised.value))
        filled = eval(advice, {"x": x})
        assert arguments.converted(filled, "int64").tolist() == filled.astype("int64").values.tolist()
        with pytest.raises(TypeError, match="not a tensor") as raised:
            arguments.double_sum(filled)
        [advice] = re.findall(r"`(numpy\.[^`]*)`", str(raised.value))
        assert arguments.double_sum(eval(advice, {"numpy": np, "x": filled})) == filled.sum().sum()
    large = pandas.DataFrame({"a": [2**63 - 1, 0], "b": [-(2**63), 1]}, dtype="Int64")
    assert arguments.converted(large, "int64").tolist() == [[2**63 - 1, -(2**63)], [0, 1]]
    signs = pandas.DataFrame({"a": [2**53 + 1, 0], "b": [-1, 1]}).astype({"a": "UInt64", "b": "Int64"})
    for given in [signs, [signs]]:
        assert arguments.converted(given, "int64").ravel().tolist() == [2**53 + 1, -1, 0, 1]
    signs["a"] = pandas.array([2**64 - 1, 0], dtype="UInt64")
    with pytest.raises(TypeError, match="expected int64"):
        arguments.converted(signs, "int64")
    # Columns without numbers, and of objects.
    for x in [frame.assign(d="text").convert_dtypes(), frame.astype(object), frame.assign(d=[{}] * 3)]:
        with pytest.raises(TypeError, match="expected float64, got `pandas.DataFrame`"):
            arguments.converted(x, "float64")


def test_a_frame_is_advised_its_records():
    frame = require("pandas").DataFrame({"type": [1], "flags": [2]})
    with pytest.raises(TypeError, match=r"pass `x.to_records\(index=False\)`"):
        testing.levels(frame)
    with pytest.raises(TypeError, match="expected an array with the fields .*, got one where"):
        testing.levels(frame.to_records(index=False))


def test_missing_bools_are_not_converted():
    pandas, polars = require("pandas"), require("polars")
    for x in [pandas.array([True, None], dtype="boolean"), polars.Series([True, None])]:
        with pytest.raises(TypeError, match="expected bool, got .* with missing values") as raised:
            arguments.converted(x, "bool")
        [advice] = re.findall(r"`(x\.[^`]*)`", str(raised.value))
        assert arguments.converted(eval(advice, {"x": x}), "bool").tolist() == [True, False]


def test_missing_values_of_an_import():
    """NumPy makes objects of some of them; the advice makes numbers."""
    pandas = require("pandas")
    for x in [*nullable_columns(), pandas.array([True, None], dtype="boolean")]:
        with pytest.raises(AttributeError, match="not a tensor") as raised:
            testing.import_tensor(x)
        [advice] = re.findall(r"`(numpy\.[^`]*)`", str(raised.value))
        made = eval(advice, {"numpy": np, "x": x})
        assert made.dtype.kind in "bif" and made[0] == 1, advice
        testing.import_tensor(made)


def test_no_cast_of_a_column_is_advised_that_makes_arbitrary_values():
    pandas = require("pandas")
    for x in [[-1.0, None], [300.5, None], [1e30, None], [300, -1], [float("inf"), 1]]:
        with pytest.raises(TypeError, match="pass numbers in the range of uint8"):
            arguments.bytes(pandas.Series(x))
    for x in [pandas.Series([300, None], dtype="Int64"), pandas.Series([None, -1], dtype="Float64")]:
        with pytest.raises(TypeError, match="pass numbers in the range of uint8"):
            arguments.bytes(x)
    with pytest.raises(TypeError, match=r"pass `numpy.asarray\(x.fillna\(0\), 'uint8'\)`"):
        arguments.bytes(pandas.Series([255.5, None]))
    with pytest.raises(TypeError, match=r"pass `numpy.asarray\(x, 'uint8'\)`"):
        arguments.bytes(pandas.Series([255.5, 0]))


def test_messages_do_not_compute():
    dask, xarray = require("dask"), require("xarray")
    computed = []

    def block():
        computed.append(1)
        return np.array([1.5, np.nan])

    import dask.array

    x = xarray.DataArray(dask.array.from_delayed(dask.delayed(block)(), (2,), float))
    for function, most in [(arguments.floats, 0), (arguments.bytes, 0), (arguments.convert_bytes, 1)]:
        with pytest.raises(TypeError):
            function(x)
        assert len(computed) == most
    texts = xarray.DataArray(dask.array.from_delayed(dask.delayed(block)(), (2,), float).astype(str))
    computed.clear()
    with pytest.raises(TypeError, match="pass numbers"):
        arguments.convert_floats(texts)
    assert len(computed) == 1


def test_sparse_arrays_are_advised_to_be_made_dense():
    require("scipy")
    import scipy.sparse

    one = np.eye(2, dtype="f4")
    for x in [scipy.sparse.csr_array(one), scipy.sparse.coo_matrix(one)]:
        for function in [arguments.floats, arguments.convert_floats, arguments.exact]:
            with pytest.raises(TypeError, match=r"pass `x\.toarray\(\)`"):
                function(x)
            function(x.toarray())


def test_missing_values_that_are_not_the_reason():
    pandas = require("pandas")
    for x in [pandas.Series([1.5, 2.5]), pandas.array([1.5, 2.5], dtype="Float64")]:
        with pytest.raises(TypeError, match="expected uint8, got float64, .*could be lost; convert with"):
            arguments.convert_bytes(x)
    with pytest.raises(TypeError, match="; pass numbers"):
        arguments.convert_bytes(pandas.Series(["a", None]))
    # The range is checked once the values are filled.
    with pytest.raises(TypeError, match="with missing values"):
        arguments.convert_bytes(pandas.array([300, None], dtype="Int64"))


def test_units():
    """A rule of the guide: units are dropped, unless the argument accepts exact arrays only."""
    units = require("astropy.units")
    quantity = np.array([1, 2], "f4") * units.km
    assert arguments.floats(quantity) == [1, 2]
    assert arguments.convert_floats(np.ones(2) * units.km)[0] == [1, 1]
    with pytest.raises(TypeError, match="without a unit.*Quantity"):
        arguments.exact(quantity)
    require("pint")
    import pint

    registry = pint.UnitRegistry()
    # It has the `__dask_graph__` of the collection that it could wrap.
    assert arguments.converted(registry.Quantity(3, "m"), "float64") == 3
    for items in [[1 * units.km, 1 * units.m], [1 * registry.km, 1 * registry.m]]:
        with pytest.raises(TypeError, match="without a unit.*Quantity"):
            arguments.exact_converted(items)
    quantity = registry.Quantity(np.ones(2, "f4"), "km")
    # Its `__getattr__` returns the `__dlpack__` of the array.
    assert arguments.floats(quantity) == [1, 1]
    for function in [arguments.exact, arguments.exact_converted]:
        with pytest.raises(TypeError, match="without a unit.*Quantity"):
            function(quantity)


def test_items_with_a_unit_become_numbers_as_in_numpy():
    """Their `__float__` converts the unit, or raises; their `__array__` drops it."""
    require("pint")
    import pint

    u = pint.UnitRegistry()
    for items in [[1 * u.m / u.km, 2.0], [180 * u.degree], [50 * u.percent], (3 * u.dimensionless,)]:
        expected = np.asarray(items, "float64").tolist()
        assert arguments.converted(items, "float64").tolist() == expected
        assert testing.elementwise.sum(items, 0.0).tolist() == expected
    for items in [[1.5 * u.m, 2.5 * u.km], [1, 2 * u.km], [[1 * u.m]]]:
        with pytest.raises((ValueError, pint.DimensionalityError)):
            np.asarray(items, "float64")
        for function in [arguments.convert_floats, lambda x: testing.elementwise.sum(x, 1)]:
            with pytest.raises(pint.DimensionalityError):
                function(items)
        with pytest.raises(pint.DimensionalityError):
            arguments.floats(items)


def test_proxies_of_frames_are_read_as_the_frames_are():
    """They have the methods of a sequence, of which the items are the names of the columns."""
    pandas, polars = require("pandas"), require("polars")
    frame = pandas.DataFrame([[5.0, 6], [7, 8]])
    for x in [frame, frame.add_prefix("c"), polars.DataFrame({"a": [1, 2], "b": [3, 4]})]:
        expected = np.asarray(x).tolist()
        for given in [weakref.proxy(x), Wrapper(x)]:
            assert arguments.converted(given, "float64").tolist() == expected
            assert arguments.converted([given], "float64").tolist() == [expected]
            assert arguments.at_most(given) == np.asarray(x).ravel().tolist()
            with pytest.raises(TypeError, match="without a unit or another meaning"):
                arguments.exact_converted(given)


def test_a_lazy_masked_array_is_not_advised_without_its_mask():
    dask = require("dask")
    import dask.array

    x = dask.array.ma.masked_greater(dask.array.arange(4.0, chunks=2), 2)
    for given in [weakref.proxy(x), [weakref.proxy(x)], Wrapper(x), [Wrapper(x)]]:
        for function in [arguments.convert_floats, arguments.at_most, testing.elementwise.halved]:
            with pytest.raises(TypeError, match="masked elements"):
                function(given)
    for function in [arguments.double_sum, arguments.mean_as, arguments.any_sum, arguments.facts]:
        with pytest.raises(TypeError, match="masked elements") as raised:
            function(x)
        [advice] = re.findall(r"`(x\.[^`]*)`", str(raised.value))
        assert eval(advice, {"x": x}).tolist() == [0, 1, 2, 0]


def test_a_wrapper_of_a_lazy_array_with_an_array_of_its_own():
    dask = require("dask")
    import dask.array

    class Doubled(Wrapper):
        def __array__(self, dtype=None, copy=None):
            return 2 * np.asarray(self.array, dtype)

    for given in [Doubled(dask.array.ones(2)), [Doubled(dask.array.ones(2))]]:
        assert arguments.converted(given, "float64").ravel().tolist() == [2, 2]


def test_a_masked_quantity_behind_a_proxy():
    require("pint"), require("xarray")
    import pint
    import xarray

    masked = np.ma.masked_greater([1.0, 2.0], 1)
    x = xarray.DataArray(pint.UnitRegistry().Quantity(masked, "m"))
    for given in [x, weakref.proxy(x)]:
        with pytest.raises(TypeError, match="masked elements"):
            arguments.convert_floats(given)


@pytest.mark.filterwarnings("error")
def test_lists_that_numpy_does_not_cast_are_not_advised():
    pandas = require("pandas")
    frame = pandas.DataFrame({"a": [1, None], "b": [1, 2]}, dtype="Int64")
    for function, given in [
        *((arguments.floats, [1j]), (arguments.floats, [frame])),
        *((arguments.bytes, x) for x in ([300], [-1], [float("nan")])),
    ]:
        with pytest.raises(TypeError, match="pass a tensor, such as"):
            function(given)


def test_times_are_not_advised_a_cast():
    """It would lose the unit, and make a number of NaT."""
    pandas, xarray = require("pandas"), require("xarray")
    times = np.array(["2020-01-01", "NaT"], "M8[ns]")
    for x in [
        *(times, times - times[0], pandas.Series(times), xarray.DataArray(times)),
        *(times[0], times[1] - times[0], [times[0]], require("polars").Series(times)),
    ]:
        for function in [arguments.floats, arguments.convert_floats, testing.elementwise.halved]:
            with pytest.raises((TypeError, BufferError)) as raised:
                function(x)
            text = str(raised.value)
            assert re.search("pass (numbers|a tensor)", text) and "32" not in text.split(";")[1], text


def test_a_sparse_array_that_is_a_mapping_is_advised_all_of_its_elements():
    scipy = require("scipy")
    import scipy.sparse

    x = scipy.sparse.dok_array(np.eye(2))
    for function in [arguments.convert_floats, arguments.double_sum, testing.elementwise.halved]:
        for given in [x] if function == arguments.double_sum else [x, [x]]:
            with pytest.raises(TypeError, match=r"pass .*`[xd].toarray\(\)`"):
                function(given)


def test_columns_of_decimals_and_other_orders_of_bytes_are_advised_a_cast():
    pandas, polars = require("pandas"), require("polars")
    for x in [
        pandas.DataFrame({"a": [1, 2], "b": [True, False]}),
        pandas.Series(np.array([1, 2], ">f8")),
        polars.Series([decimal.Decimal("1.5")]),
    ]:
        with pytest.raises(TypeError, match="not a tensor") as raised:
            arguments.floats(x)
        [advice] = re.findall(r"`(numpy\.[^`]*)`", str(raised.value))
        assert arguments.floats(eval(advice, {"numpy": np, "x": x}))


@pytest.mark.filterwarnings("error")
def test_frames_with_times_or_texts_are_not_filled():
    pandas = require("pandas")
    for column in [pandas.to_datetime(["2020-01-01", None]), ["a", None]]:
        frame = pandas.DataFrame({"a": [1, None], "b": column}).convert_dtypes()
        with pytest.raises(TypeError, match="pass numbers"):
            arguments.converted(frame, "int64")


class Wrapper:
    """It passes on the attributes of an array."""

    def __init__(self, array):
        self.array = array

    def __getattr__(self, name):
        return getattr(self.__dict__["array"], name)


class Read:
    """It passes on attributes by a `__getattribute__`, without a `__getattr__`."""

    def __init__(self, array):
        self.array = array

    def __getattribute__(self, name):
        array = object.__getattribute__(self, "array")
        return array if name == "array" else getattr(array, name)


class Lazy:
    """A collection of the protocol of Dask."""

    def __init__(self, array):
        self.compute = lambda: array

    def __dask_graph__(self):
        return {}

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.compute(), dtype)


class Masks:
    """Its `__array__` has the mask."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


# The last one has neither method: C code passes on the attributes.
PROXIES = [Wrapper, Read, weakref.proxy]


def test_masked_elements_in_a_wrapper():
    """Rule W7."""
    hidden = np.ma.array([1, 2], mask=[0, 1], dtype="f4")
    shown = np.ma.array([1, 2], mask=[0, 0], dtype="f4")
    for of, functions in [
        *((of, [arguments.floats, arguments.convert_floats, testing.import_tensor]) for of in PROXIES),
        (Lazy, [arguments.convert_floats]),
        (Masks, [arguments.convert_floats]),
    ]:
        for function in functions:
            with pytest.raises(TypeError, match="without masked elements") as raised:
                function(of(hidden))
            for made in re.findall(r"`((?:numpy\.|x\.)[^`]*[)\]])`", str(raised.value)):
                function(eval(made, {"numpy": np, "x": of(hidden)}))
            function(of(shown))


def masked_quantity():
    """Its `__dlpack__` and its `__array__` are those of the array without the mask."""
    require("pint")
    import pint

    masked = np.ma.array([1, 2, 3], mask=[0, 1, 0], dtype="f4")
    return pint.UnitRegistry().Quantity(masked, "km")


def test_masked_elements_in_a_quantity():
    """Rule W7."""
    hidden = masked_quantity()
    for function in [arguments.floats, arguments.convert_floats, arguments.facts]:
        with pytest.raises(TypeError, match="without masked elements, got .*Quantity") as raised:
            function(hidden)
        for made in re.findall("`(x[^`]*)`", str(raised.value)):
            assert arguments.floats(eval(made, {"x": hidden})) in ([1, 0, 3], [1, 3])
    with pytest.raises(TypeError, match="without masked elements"):
        testing.import_tensor(hidden)
    with pytest.raises(TypeError, match="without a mask.*`x.data`"):
        arguments.scale(hidden, 2)
    # Exported by `__array__` only.
    swapped = type(hidden)(hidden.magnitude.astype(">f4"), "km")
    for function in [arguments.floats, arguments.convert_floats]:
        with pytest.raises(TypeError, match="without masked elements"):
            function(swapped)
    with pytest.raises(TypeError, match="without a mask.*`x.data`"):
        arguments.scale(swapped, 2)
    shown = type(hidden)(np.ma.array([1, 2], mask=[0, 0], dtype="f4"), "km")
    assert arguments.floats(shown) == arguments.convert_floats(shown)[0] == [1, 2]


def test_the_first_array_of_a_process_is_in_a_quantity():
    """No import has loaded NumPy."""
    require("pint")
    run_in_a_new_process(
        """
import numpy as np, pint
from dlpack_testing import arguments
quantity = pint.UnitRegistry().Quantity(np.ma.array([1.0], mask=[1], dtype="f4"), "km")
for function in [arguments.floats, arguments.convert_floats]:
    try: function(quantity)
    except TypeError as error: assert "masked" in str(error), error
    else: raise AssertionError
"""
    )


@pytest.mark.filterwarnings("ignore:The unit of the quantity")
def test_masked_elements_in_an_array_of_xarray():
    """Which makes numbers of a masked array, and keeps a quantity of one."""
    xarray = require("xarray")
    x = xarray.DataArray(masked_quantity())
    for function in [arguments.floats, arguments.convert_floats]:
        with pytest.raises(TypeError, match="without masked elements, got .*DataArray") as raised:
            function(x)
        for made in re.findall(r"`(x\.[^`]*)`", str(raised.value)):
            assert arguments.floats(eval(made, {"x": x})) in ([1, 0, 3], [1, 3])
    integers = xarray.DataArray(masked_quantity().astype("i8"))
    with pytest.raises(TypeError, match="without masked elements, got .*DataArray"):
        arguments.convert_bytes(integers)
    of_numbers = xarray.DataArray(np.ma.array([1.0, 2.0], mask=[0, 1]))
    values, _ = arguments.convert_floats(of_numbers)
    assert values[0] == 1 and np.isnan(values[1])


def test_masked_elements_of_a_lazy_array():
    """Of Dask, whose `__array__` drops the mask. xarray makes numbers of masked elements."""
    array, xarray = require("dask.array"), require("xarray")
    hidden, shown = array.ma.masked_equal(array.arange(4, chunks=2), 1), array.arange(4, chunks=2)
    with pytest.raises(TypeError, match="without masked elements, got") as raised:
        arguments.convert_floats(hidden)
    for made in re.findall(r"`(x\.[^`]*)`", str(raised.value)):
        assert arguments.convert_floats(eval(made, {"x": hidden}))[0] in ([0, 0, 2, 3], [0, 2, 3])
    values, _ = arguments.convert_floats(xarray.DataArray(hidden))
    assert np.isnan(values[1]) and values[2:] == [2, 3]
    for given in [shown, xarray.DataArray(shown)]:
        assert arguments.convert_floats(given)[0] == [0, 1, 2, 3]


def test_an_exact_argument_rejects_a_wrapper_of_an_array():
    """The `__dlpack__` of the array drops what the wrapper adds."""
    array = np.ones(2, "f4").view(Tagged)
    for of in PROXIES:
        assert arguments.floats(of(array)) == [1, 1]
        for function in [arguments.exact, arguments.exact_converted]:
            with pytest.raises(TypeError, match=r"another meaning, got .*; pass `numpy.asarray\(x\)`"):
                function(of(array))
        assert arguments.exact(np.asarray(of(array))) == [1, 1]


class Tagged(np.ndarray):
    """A class of arrays that can have weak references."""


def test_negated_elements_in_a_wrapper():
    """The error of the tensor, not that the wrapper has no `__dlpack__`."""
    torch = require("torch")
    hidden = Wrapper(torch.tensor([1 + 2j]).conj().imag)
    for function in [testing.import_tensor, arguments.floats, arguments.scale]:
        with pytest.raises(BufferError, match=r"negative bit.*`x.resolve_neg\(\)`"):
            function(*[hidden, 2][: 1 + (function is arguments.scale)])
    assert testing.import_tensor(Wrapper(torch.ones(2))).facts()[0] == [2]


@pytest.mark.filterwarnings("ignore:Warning. converting a masked element to nan")
def test_masked_elements_of_items():
    """Of which NumPy makes an array without the mask."""
    hidden = np.ma.array([1, 2], mask=[0, 1], dtype="f4")
    shown = np.ma.array([1, 2], mask=[0, 0], dtype="f4")
    for given in [[hidden, hidden], ([1], [hidden]), [np.ma.masked, 1.0], [[shown], [hidden]]]:
        with pytest.raises(TypeError, match="without masked elements, got `(list|tuple)`"):
            arguments.convert_any(given)
        # The advice for a list, `numpy.asarray(x)`, would drop the masks.
        with pytest.raises(TypeError, match="without masked elements, got `(list|tuple)`"):
            arguments.floats(given)
    for given in [collections.deque([1.0, np.ma.masked]), collections.UserList([hidden])]:
        with pytest.raises(TypeError, match="without masked elements, got `collections"):
            arguments.convert_any(given)
    # No sequence: NumPy does not iterate it, and it has no end.
    with pytest.raises(TypeError, match="pass numbers"):
        arguments.convert_any(itertools.count())
    for given in [[shown, shown], [[1.0, 2.0]] * 2, [hidden[:1], shown[1:]]]:
        assert arguments.convert_any(given)[1] == list(np.shape(given))
    for given, made in [([np.ma.masked, 1.0], [0, 1]), ((hidden[1], 3, 4), [0, 3, 4])]:
        with pytest.raises(TypeError) as raised:
            arguments.convert_floats(given)
        [advice] = re.findall(r"`(\[numpy[^`]*)`", str(raised.value))
        assert arguments.convert_floats(eval(advice, {"numpy": np, "x": given}))[0] == made


def test_masked_elements_of_items_that_numpy_makes():
    """By `__array__`, or by a computation."""
    hidden = np.ma.array([1.0, 2.0], mask=[0, 1])
    shown = np.ma.array([1.0, 2.0], mask=[0, 0])
    for of in [Masks, Lazy]:
        for given in [[of(hidden)], collections.deque([of(hidden)]), [[of(shown)], [of(hidden)]]]:
            with pytest.raises(TypeError, match="pass arrays without a mask in it"):
                arguments.convert_floats(given)
        assert arguments.convert_floats([of(shown)])[0] == [1, 2]
    for given in [collections.deque([hidden]), collections.UserList([hidden])]:
        with pytest.raises(TypeError, match="pass arrays without a mask in it"):
            arguments.convert_floats(given)


def test_masked_elements_of_items_of_other_libraries():
    with pytest.raises(TypeError, match="without masked elements, got `list`"):
        arguments.convert_any([masked_quantity()] * 2)
    require("astropy.units")
    from astropy.utils.masked import Masked

    with pytest.raises(TypeError, match="without masked elements, got `list`"):
        arguments.convert_any([Masked(np.ones(2), mask=[0, 1])] * 2)


def test_masked_elements_of_astropy():
    """Rule W7: a class of masked arrays that is not of `numpy.ma`."""
    require("astropy.units")
    from astropy.utils.masked import Masked

    hidden = Masked(np.array([1, 2, 3], "f4"), mask=[0, 1, 0])
    for function in [arguments.floats, arguments.convert_floats, arguments.facts]:
        with pytest.raises(TypeError, match="without masked elements, got.*Masked") as raised:
            function(hidden)
    for made in re.findall("`(x[^`]*)`", str(raised.value)):
        assert arguments.floats(eval(made, {"x": hidden})) in ([1, 0, 3], [1, 3])
    with pytest.raises(TypeError, match="without a mask.*`x.unmasked`"):
        arguments.scale(hidden, 2)
    shown = Masked(np.array([1, 2], "f4"), mask=[0, 0])
    assert arguments.floats(shown) == arguments.convert_floats(shown)[0] == [1, 2]
