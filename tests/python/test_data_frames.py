"""Columns, frames and quantities of other libraries as arguments: what they are is decided by
their types, which have a Python `__getattr__`."""

import re

import dlpack_testing as testing
import pytest
from conftest import require
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


def test_a_column_with_missing_values():
    """As pandas converts them."""
    pandas = require("pandas")
    values, _ = arguments.convert_floats(pandas.Series([1, None], dtype="Int64"))
    assert values[0] == 1 and np.isnan(values[1])


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

    quantity = pint.UnitRegistry().Quantity(np.ones(2, "f4"), "km")
    # Its `__getattr__` returns the `__dlpack__` of the array.
    assert arguments.floats(quantity) == [1, 1]
    for function in [arguments.exact, arguments.exact_converted]:
        with pytest.raises(TypeError, match="without a unit.*Quantity"):
            function(quantity)


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
