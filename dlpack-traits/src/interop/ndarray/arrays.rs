//! Arrays of one version of `ndarray`, in and out, without a copy. The parent module is compiled
//! once for each version, and has that version as `super::ndarray`.
//!
//! The constructors of `ndarray` accept no negative strides. An array is made from its
//! lowest address, and the axes with negative strides are inverted afterwards.

use alloc::vec::Vec;

use super::ndarray::{
    ArcArray, Array, ArrayBase, ArrayD, ArrayViewD, ArrayViewMutD, Axis, Data as Repr,
    DataMut as ReprMut, Dimension, IxDyn, ShapeBuilder, StrideShape,
};

use crate::describe::{AsLayout, Describe, Description, DescriptionMut, Layout, List};
use crate::element::{AnyBits, Element, Readable, RecordType};
use crate::error::Error;
use crate::export::DLPackExport;
use crate::import::{
    Copies, DLPackImport, Elements, Exclusive, Frozen, ImportError, ImportedTensor, Mismatch,
    MismatchKind, Typed, elements_are,
};
use crate::storage::{DataMut, DataRef, SharedOwner, Storage, try_vec};
use crate::strides;

/// The arguments of an array constructor: the lowest address, strides that are not negative,
/// and the axes to invert afterwards.
struct ArrayParts<T> {
    lowest: *mut T,
    shape: StrideShape<IxDyn>,
    inverted: Vec<Axis>,
}

impl<T: Element> ArrayParts<T> {
    fn of(typed: &Typed<'_>) -> Result<Self, Error> {
        let mut lowest = typed.as_aligned::<T>()?;
        let shape: Vec<usize> = usizes(typed.shape)?;
        // `ndarray` requires this limit also of arrays without elements.
        let some = shape.iter().filter(|&&dim| dim != 0);
        let product = some.copied().try_fold(1_usize, usize::checked_mul);
        if product.is_none_or(|product| isize::try_from(product).is_err()) {
            return Err(Error::SizeOverflow);
        }
        if typed.len == 0 {
            return Ok(Self { lowest, shape: IxDyn(&shape).into(), inverted: Vec::new() });
        }
        let (mut strides, mut inverted) = (Vec::new(), Vec::new());
        reserve(&mut strides, shape.len())?;
        reserve(&mut inverted, shape.len())?;
        for (axis, (&dim, &stride)) in shape.iter().zip(typed.strides).enumerate() {
            if dim == 1 {
                // Never used, so it may be anything, but not here.
                strides.push(1);
                continue;
            }
            let bytes = typed.bytes(stride);
            let size = isize::try_from(size_of::<T>()).map_err(|_| Error::SizeOverflow)?;
            if bytes.checked_rem(size) != Some(0) {
                let bytes = i64::try_from(bytes).map_err(|_| Error::SizeOverflow)?;
                return Err(Error::StrideNotWhole { axis, bytes });
            }
            let stride = bytes.checked_div(size).unwrap_or(0);
            strides.push(stride.unsigned_abs());
            if stride < 0 {
                inverted.push(Axis(axis));
                // Inside of the extent, which fits.
                let back = bytes.wrapping_mul(isize::try_from(dim).unwrap_or(1).wrapping_sub(1));
                lowest = lowest.wrapping_byte_offset(back);
            }
        }
        let shape = IxDyn(&shape).strides(IxDyn(&strides));
        Ok(Self { lowest, shape, inverted })
    }
}

/// The elements as an array, zero-copy, in any layout. The errors are those of `Frozen::as_ndarray`.
impl<'a, T: AnyBits> TryFrom<Frozen<'a>> for ArrayViewD<'a, T> {
    type Error = Error;

    fn try_from(frozen: Frozen<'a>) -> Result<Self, Error> {
        let ArrayParts { lowest, shape, inverted } =
            ArrayParts::of(&frozen.tensor().typed_any_bits::<T>()?)?;
        // SAFETY: the elements are aligned, any bits are a `T`, and by 4 of
        // `ImportedTensor::from_raw` all that these dimensions and strides reach from
        // the lowest is initialized and alive as long as the handle, which is
        // borrowed for `'a`. No one writes to it. Offsets and the number of
        // elements were checked to fit, and no stride is negative.
        let mut array = unsafe { ArrayViewD::from_shape_ptr(shape, lowest) };
        for axis in inverted {
            array.invert_axis(axis);
        }
        Ok(array)
    }
}

/// The elements as a mutable array, zero-copy. The errors are those of `Exclusive::as_ndarray_mut`.
impl<'a, T: AnyBits> TryFrom<&'a mut Exclusive<'_>> for ArrayViewMutD<'a, T> {
    type Error = Error;

    fn try_from(exclusive: &'a mut Exclusive<'_>) -> Result<Self, Error> {
        let typed = exclusive.tensor().typed_any_bits::<T>()?;
        if !strides::are_nested(typed.shape, typed.strides) {
            return Err(Error::Overlapping);
        }
        let ArrayParts { lowest, shape, inverted } = ArrayParts::of(&typed)?;
        // SAFETY: as in `ArrayViewD::try_from`; the handle is uniquely borrowed, the memory
        // may be written (READ_ONLY is not set), no other owner accesses it, and no
        // two indices name one element.
        let mut array = unsafe { ArrayViewMutD::from_shape_ptr(shape, lowest) };
        for axis in inverted {
            array.invert_axis(axis);
        }
        Ok(array)
    }
}

/// A copy in row-major order. The errors are those of `Elements::to_ndarray`.
impl<T: Readable> TryFrom<&Elements<'_, T>> for ArrayD<T> {
    type Error = Error;

    fn try_from(elements: &Elements<'_, T>) -> Result<Self, Error> {
        let shape = usizes(elements.shape())?;
        ArrayD::from_shape_vec(shape, elements.to_vec()?).map_err(|_| Error::SizeOverflow)
    }
}

/// An array is a copy of the elements in row-major order, with the shape of the tensor.
impl<T: Readable, D: Dimension> DLPackImport for Array<T, D> {
    const COPIES: Copies = Copies::Always;

    fn accepts(tensor: &ImportedTensor) -> Result<(), ImportError> {
        fits::<T>(tensor, D::NDIM).map_err(|unmet| Mismatch::new("Array", unmet).into())
    }

    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        Self::accepts(&tensor)?;
        let array = ArrayD::try_from(&tensor.elements::<T>()?)?;
        array.into_dimensionality().map_err(ImportError::rejected)
    }
}

/// Checks the element type and the number of dimensions without those of an element.
fn fits<T: Element>(tensor: &ImportedTensor, ndim: Option<usize>) -> Result<(), MismatchKind> {
    elements_are(tensor, T::DTYPE)?;
    let outer = tensor.shape().strip_suffix(T::AXES);
    let found = outer.ok_or(MismatchKind::Axes { needed: T::AXES })?.len();
    match ndim {
        Some(needed) if needed != found => {
            Err(MismatchKind::Rank { needed: Vec::from([needed]), found })
        }
        _ => Ok(()),
    }
}

fn usizes(dims: &[i64]) -> Result<Vec<usize>, Error> {
    let mut converted = try_vec(dims.len())?;
    for &dim in dims {
        converted.push(usize::try_from(dim).map_err(|_| Error::SizeOverflow)?);
    }
    Ok(converted)
}

fn reserve<T>(list: &mut Vec<T>, len: usize) -> Result<(), Error> {
    let bytes = len.saturating_mul(size_of::<T>());
    list.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })
}

/// Returns the number of elements of memory before the first element, and the number from the
/// lowest to the highest, gaps included.
fn reach<S: Repr, D: Dimension>(array: &ArrayBase<S, D>) -> (usize, usize) {
    if array.is_empty() {
        return (0, 0);
    }
    let (mut before, mut behind) = (0_usize, 0_usize);
    for (&dim, &stride) in array.shape().iter().zip(array.strides()) {
        // The array is in memory, so this fits.
        let span = stride.unsigned_abs().wrapping_mul(dim.saturating_sub(1));
        let end = if stride < 0 { &mut before } else { &mut behind };
        *end = end.wrapping_add(span);
    }
    (before, before.wrapping_add(behind).wrapping_add(1))
}

/// Borrows the memory of an array with one owner or several.
fn memory<S: Repr<Elem: Element>, D: Dimension>(array: &ArrayBase<S, D>) -> &[S::Elem] {
    let (before, len) = reach(array);
    if len == 0 {
        return &[];
    }
    let lowest = array.as_ptr().wrapping_sub(before);
    // SAFETY: the lowest and the highest element belong to the array. All elements that lie
    // between them, also those that no index names, are in the same allocation and initialized: by
    // the documentation of `into_raw_vec_and_offset` the array owns a `Vec` of elements, and the
    // elements of a `Vec` are initialized. It is borrowed with the array.
    unsafe { core::slice::from_raw_parts(lowest, len) }
}

/// Borrows the memory of an array with one owner, for writing.
fn memory_mut<S: ReprMut<Elem: Element>, D: Dimension>(
    array: &mut ArrayBase<S, D>,
) -> &mut [S::Elem] {
    let (before, len) = reach(array);
    if len == 0 {
        return &mut [];
    }
    let lowest = array.as_mut_ptr().wrapping_sub(before);
    // SAFETY: as in `memory`, and the array is borrowed uniquely.
    unsafe { core::slice::from_raw_parts_mut(lowest, len) }
}

/// The error for an array with strides in the `data` field of a struct with its own shape:
/// without its strides, the shape would select other elements.
const NOT_ROW_MAJOR: Error = Error::Custom(
    "the array has strides of its own; write `#[dlpack(transparent)]` above a struct that holds \
     it alone",
);

/// All memory of a shared array, from its lowest element to its highest.
struct Whole<T, D: Dimension>(ArcArray<T, D>);

impl<T: Element, D: Dimension + 'static> Storage for Whole<T, D> {
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(memory(&self.0))
    }

    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(Self(self.0.clone()))
    }
}

/// An array is a layout of the memory from its lowest element to its highest, and with
/// that a tensor. A contiguous row-major array is also a `Storage`.
macro_rules! tensors {
    ($($array:ident: { $($storage:tt)* }, { $($export:tt)* })+) => {$(
        impl<T: Element, D: Dimension + 'static> Storage for $array<T, D> {
            fn data(&self) -> DataRef<'_> {
                if self.is_standard_layout() {
                    DataRef::from_slice(memory(self))
                } else {
                    DataRef::refused(&NOT_ROW_MAJOR)
                }
            }

            fn record_type(&self) -> Option<&'static RecordType> {
                T::RECORD
            }

            $($storage)*
        }

        impl<T: Element, D: Dimension> AsLayout for $array<T, D> {
            fn layout(&self) -> Layout<'_> {
                Layout::new(self.shape()).strides(self.strides()).offset(reach(self).0)
            }
        }

        impl<T: Element, D: Dimension + 'static> DLPackExport for $array<T, D> {
            fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
                out.layout(self.layout()).data(DataRef::from_slice(memory(self)))
            }

            fn record_type(&self) -> Option<&'static RecordType> {
                T::RECORD
            }

            $($export)*
        }
    )+};
}

tensors! {
    Array: {
        fn data_mut(&mut self) -> DataMut<'_> {
            if self.is_standard_layout() {
                DataMut::from_mut_slice(memory_mut(self))
            } else {
                DataMut::refused(&NOT_ROW_MAJOR)
            }
        }
    }, {
        fn describe_mut<'a>(
            &'a mut self,
            out: Describe<'a>,
        ) -> Result<DescriptionMut<'a>, Error> {
            // Copies, because the memory is borrowed through the whole array.
            let (shape, strides) = (List::copied(self.shape()), List::copied(self.strides()));
            let layout = out.shape(shape).strides(strides).offset(reach(self).0);
            layout.data_mut(DataMut::from_mut_slice(memory_mut(self)))
        }
    }
    ArcArray: {
        fn share(&self) -> Option<SharedOwner> {
            SharedOwner::new(self.clone())
        }
    }, {
        fn share(&self) -> Option<SharedOwner> {
            SharedOwner::new(Whole(self.clone()))
        }
    }
}
