//! Lists of a layout, of any integer type: [`IntoList`], [`IntoStrides`].

use alloc::vec::Vec;
use core::mem;

use crate::dims::{AsDims, Dim, Dims, Ints};
use crate::error::Error;

/// A list of a [`Layout`](crate::Layout).
#[doc(hidden)]
#[derive(Debug)]
pub enum List<'a> {
    /// Numbers that the tensor stores.
    Lent(Ints<'a>),
    /// Numbers that were computed.
    Computed(Dims<'a>),
    /// Those before the first one that does not fit in 64 bits.
    Unfit(Dims<'a>),
}

impl<'a> List<'a> {
    /// No numbers.
    const NONE: Self = Self::Lent(Ints::i64(&[]));

    /// Borrows the numbers of a list.
    #[inline(always)]
    pub(crate) fn lent<D: AsDims + ?Sized>(list: &'a D) -> Self {
        Self::Lent(Dim::ints(list.as_dims()))
    }

    /// The list, or none and the reason.
    #[inline(always)]
    pub(super) fn or_error(list: Result<Self, Error>) -> (Self, Option<Error>) {
        match list {
            Ok(list) => (list, None),
            Err(error) => (Self::NONE, Some(error)),
        }
    }

    /// Copies numbers.
    #[inline(always)]
    pub(crate) fn computed(
        numbers: impl ExactSizeIterator<Item = Option<i64>> + Clone,
    ) -> Result<Self, Error> {
        let fit = numbers.clone().take_while(Option::is_some).count();
        let is_whole = fit == numbers.len();
        let dims = Dims::filled(fit, |dims| {
            for (to, from) in dims.iter_mut().zip(numbers) {
                *to = from.unwrap_or(0);
            }
            Ok(())
        })?;
        Ok(if is_whole { Self::Computed(dims) } else { Self::Unfit(dims) })
    }

    /// Copies the numbers of a list.
    #[inline(always)]
    pub(crate) fn copied<D: AsDims + ?Sized>(list: &D) -> Result<Self, Error> {
        Self::computed(list.as_dims().iter().map(|dim| dim.to_i64()))
    }
}

/// A list of integers for a [`Layout`](crate::Layout): a reference to an [`AsDims`], such as
/// `&self.shape`, or a computed array, `Vec` or [`Dims`], such as `[self.rows, 3]`.
///
/// This trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of dimensions or strides",
    label = "not a list of integers",
    note = "use a reference to a list that the tensor stores, such as `&self.shape`, or an array of computed integers, such as `[rows, 3]`"
)]
pub trait IntoList<'a>: sealed::Sealed {
    /// Takes the numbers. By `&mut`, so that Clippy does not advise to pass `&self.shape` by value
    /// if it is an array: its numbers would be copied.
    #[doc(hidden)]
    fn take_list(&mut self) -> Result<List<'a>, Error>;
}

/// The strides of a [`Layout`](crate::Layout): a list, or an `Option` of one. With `None` the
/// elements are contiguous.
///
/// This trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of strides",
    label = "not a list of integers",
    note = "use a reference to a list that the tensor stores, such as `&self.strides`, an array of computed integers, such as `[pitch, 1]`, or an `Option` of one of these"
)]
pub trait IntoStrides<'a>: sealed::Sealed {
    /// As [`IntoList::take_list`].
    #[doc(hidden)]
    fn take_strides(&mut self) -> Option<Result<List<'a>, Error>>;
}

impl<I: Dim, const N: usize> sealed::Sealed for [I; N] {}
impl<I: Dim> sealed::Sealed for Vec<I> {}
impl<D: AsDims + ?Sized> sealed::Sealed for &D {}
impl sealed::Sealed for Dims<'_> {}
impl sealed::Sealed for Result<List<'_>, Error> {}
impl<L: sealed::Sealed> sealed::Sealed for Option<L> {}

macro_rules! lists {
    ($([$($params:tt)*] $list:ty: $value:ident => $into:expr;)+) => {$(
        impl<'a, $($params)*> IntoList<'a> for $list {
            #[inline(always)]
            fn take_list(&mut self) -> Result<List<'a>, Error> {
                let $value = self;
                $into
            }
        }

        impl<'a, $($params)*> IntoStrides<'a> for $list {
            #[inline(always)]
            fn take_strides(&mut self) -> Option<Result<List<'a>, Error>> {
                Some(self.take_list())
            }
        }
    )+};
}

lists! {
    [D: AsDims + ?Sized] &'a D: list => Ok(List::lent(*list));
    [I: Dim, const N: usize] [I; N]: list => List::copied(list);
    [I: Dim] Vec<I>: list => List::copied(list);
    [] Result<List<'a>, Error>: list => mem::replace(list, Ok(List::NONE));
    [] Dims<'a>: list => match list.as_borrowed() {
        Some(dims) => Ok(List::Lent(Ints::i64(dims))),
        None => Ok(List::Computed(mem::replace(list, Dims::borrowed(&[])))),
    };
}

impl<'a, L: IntoList<'a>> IntoStrides<'a> for Option<L> {
    #[inline(always)]
    fn take_strides(&mut self) -> Option<Result<List<'a>, Error>> {
        self.as_mut().map(IntoList::take_list)
    }
}

mod sealed {
    pub trait Sealed {}
}
