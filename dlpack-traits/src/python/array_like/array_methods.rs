//! Special methods that the NumPy array of an object implements: [`install`].
//!
//! Built-in functions and operators of Python look for them on the class. Without them an object
//! with a length is true if it is not empty, one with the buffer protocol is read as the text of a
//! number by `int` and `float`, and `==` compares identities.

use core::ffi::CStr;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyTuple, PyType};
use pyo3::{Borrowed, intern};

use crate::python::array_like::method::{Returned, add_missing, defines};
use crate::python::export::method_def::{Arguments, Definition, ObjectMethod};

/// Returns the definitions of methods that call the method of the same name of the array.
macro_rules! of_array {
    ($($name:literal)*) => {
        [$({
            struct OfArray;

            impl ObjectMethod for OfArray {
                const NAME: &'static CStr = $name;
                const DOC: &'static CStr =
                    c"Return the result of this method of numpy.asarray(self).";

                fn call(
                    object: Borrowed<'_, 'static, PyAny>,
                    arguments: Arguments<'_>,
                ) -> Returned {
                    static OPERATOR: PyOnceLock<Operator> = PyOnceLock::new();
                    call($name, &OPERATOR, object, arguments)
                }
            }

            Definition::of::<OfArray>()
        }),*]
    };
}

/// Adds the methods that the class does not define yet.
pub(super) fn install(class: &Bound<'_, PyType>) -> PyResult<()> {
    add_missing(
        class,
        &of_array![
            c"__bool__" c"__int__" c"__float__" c"__complex__" c"__index__"
            c"__iter__" c"__getitem__" c"__contains__" c"__setitem__" c"__delitem__"
            c"__neg__" c"__pos__" c"__abs__" c"__invert__"
            c"__add__" c"__radd__" c"__iadd__" c"__sub__" c"__rsub__" c"__isub__"
            c"__mul__" c"__rmul__" c"__imul__" c"__truediv__" c"__rtruediv__" c"__itruediv__"
            c"__floordiv__" c"__rfloordiv__" c"__ifloordiv__"
            c"__mod__" c"__rmod__" c"__imod__" c"__divmod__" c"__rdivmod__"
            c"__pow__" c"__rpow__" c"__ipow__" c"__matmul__" c"__rmatmul__" c"__imatmul__"
            c"__lshift__" c"__rlshift__" c"__ilshift__"
            c"__rshift__" c"__rrshift__" c"__irshift__"
            c"__and__" c"__rand__" c"__iand__" c"__or__" c"__ror__" c"__ior__"
            c"__xor__" c"__rxor__" c"__ixor__"
        ],
    )?;
    // A class that compares its objects, or has a hash of them, keeps both.
    if defines(class, "__eq__")? || defines(class, "__hash__")? {
        return Ok(());
    }
    add_missing(class, &of_array![c"__eq__" c"__ne__" c"__lt__" c"__le__" c"__gt__" c"__ge__"])?;
    // As of arrays: the result of `==` is an array, which a set or a dict cannot use.
    class.setattr(intern!(class.py(), "__hash__"), class.py().None())
}

/// Calls a method of the array of an object. A method that changes the array in place and
/// returns it, such as `__iadd__`, returns the object.
///
/// An operator is applied to the array, so that Python decides whose method it calls first, as for two
/// arrays: that of a matrix, or of a tensor of PyTorch, is not the one of the array.
fn call(
    name: &'static CStr,
    operator: &'static PyOnceLock<Operator>,
    object: Borrowed<'_, 'static, PyAny>,
    arguments: Arguments<'_>,
) -> Returned {
    let (py, name) = (object.py(), name.to_str().unwrap_or_default());
    let array = array_of(object)?;
    let arguments = PyTuple::new(py, arguments.all_positional(py))?;
    if arguments.len() == 1 {
        let Operator { function, is_reflected } = if let Some(found) = operator.get(py) {
            found
        } else {
            // Found outside of the lock of the cell, because an import may run Python code.
            let found = Operator::of(py, name)?;
            operator.get_or_init(py, || found)
        };
        if let Some(function) = function {
            let (left, right) = (array, arguments.get_item(0)?);
            let operands = if *is_reflected { (right, left) } else { (left, right) };
            return function.bind(py).call1(operands);
        }
    }
    let result = array.getattr(name)?.call1(&arguments)?;
    Ok(if result.is(&array) { object.to_owned() } else { result })
}

/// The function of Python that applies the operator of a method.
struct Operator {
    /// `None` for a method of no operator, or of one that changes the array.
    function: Option<Py<PyAny>>,
    /// Whether the array is the right operand.
    is_reflected: bool,
}

impl Operator {
    fn of(py: Python<'_>, name: &str) -> PyResult<Self> {
        let (operators, builtins) = (py.import("operator")?, py.import("builtins")?);
        let find = |name: &str| match name {
            "__divmod__" => builtins.getattr_opt("divmod"),
            "__getitem__" | "__contains__" | "__delitem__" => Ok(None),
            name if name.starts_with("__i") => Ok(None),
            name => operators.getattr_opt(name),
        };
        let (direct, reflected) = (find(name)?, find(&name.replacen("__r", "__", 1))?);
        let is_reflected = direct.is_none();
        Ok(Self { function: direct.or(reflected).map(Bound::unbind), is_reflected })
    }
}

/// `__bytes__`. `bytes` would iterate over an object without the buffer protocol.
pub(super) struct Bytes;

impl ObjectMethod for Bytes {
    const NAME: &'static CStr = c"__bytes__";
    const DOC: &'static CStr = c"__bytes__($self, /)\n--\n\nReturn bytes(numpy.asarray(self)).";

    fn call(object: Borrowed<'_, 'static, PyAny>, _: Arguments<'_>) -> Returned {
        object.py().get_type::<PyBytes>().call1((array_of(object)?,))
    }
}

/// `__format__`: with a format that of the array, whose number NumPy formats if it has no dimensions.
pub(super) struct Format;

impl ObjectMethod for Format {
    const NAME: &'static CStr = c"__format__";
    const DOC: &'static CStr =
        c"__format__($self, format_spec, /)\n--\n\nReturn str(self), or with a format that of \
          numpy.asarray(self).";

    fn call(object: Borrowed<'_, 'static, PyAny>, arguments: Arguments<'_>) -> Returned {
        let py = object.py();
        let arguments = PyTuple::new(py, arguments.all_positional(py))?;
        if arguments.len() == 1 && !arguments.get_item(0)?.is_truthy()? {
            return Ok(object.str()?.into_any());
        }
        array_of(object)?.call_method1(intern!(py, "__format__"), arguments)
    }
}

/// The array of an object, by its own `__array__`.
fn array_of(object: Borrowed<'_, 'static, PyAny>) -> Returned {
    object.call_method0(intern!(object.py(), "__array__"))
}
