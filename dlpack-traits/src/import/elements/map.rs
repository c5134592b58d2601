//! Functions of elements that are computed for whole tensors, on several threads: [`Map`].

use alloc::vec::Vec;
use core::ops::Range;
use std::sync::Mutex;
use std::{panic, thread};

use super::zip::{Blocks, Together};
use super::{Elements, ElementsMut};
use crate::copy::Zeroed;
use crate::dtype::DataType;
use crate::element::{Element, Readable};
use crate::error::Error;
use crate::import::ImportedTensor;

/// The types of the arguments of a function of elements: a tuple of one to three element types. This
/// trait is sealed.
pub trait Arguments: sealed::Arguments {}

impl<A: sealed::Arguments> Arguments for A {}

/// A function of one to three elements, such as `f64::hypot`. Implemented for functions and
/// closures that several threads can call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function of elements",
    label = "not a function of one to three elements with an element as the result",
    note = "state the types of the arguments, `|x: f32, y: f32| x + y`; arguments and the result are numbers, `bool` or types that implement `Readable`, and the closure is `Sync`"
)]
pub trait ElementFn<A: Arguments>: Sync {
    /// The result.
    type Output: Readable;

    /// Computes one block of results.
    #[doc(hidden)]
    fn apply(&self, from: &A::Buffers, to: &mut [Self::Output]);
}

mod sealed {
    use super::{DataType, Error, ImportedTensor, Together};

    pub trait Arguments: Sized {
        /// The type of each argument.
        const DTYPES: &'static [DataType];

        /// The elements of each tensor.
        type Elements<'a>: Together<Buffers = Self::Buffers> + Send + Sync;

        /// Elements of each tensor at the same indices.
        type Buffers;

        fn elements<'a>(tensors: &[&'a ImportedTensor]) -> Result<Self::Elements<'a>, Error>;
    }
}

macro_rules! arguments {
    ($($T:ident $at:tt),+) => {
        impl<$($T: Readable),+> sealed::Arguments for ($($T,)+) {
            const DTYPES: &'static [DataType] = {
                $(assert!($T::AXES.is_empty(), "an argument is a type such as `f32`, and not an array");)+
                &[$($T::DTYPE),+]
            };

            type Elements<'a> = ($(Elements<'a, $T>,)+);
            type Buffers = ($(Vec<$T>,)+);

            fn elements<'a>(tensors: &[&'a ImportedTensor]) -> Result<Self::Elements<'a>, Error> {
                Ok(($(elements_at::<$T>(tensors, $at)?,)+))
            }
        }
    };
}

arguments!(A 0);
arguments!(A 0, B 1);
arguments!(A 0, B 1, C 2);

impl<F: Fn(A) -> R + Sync, A: Readable, R: Readable> ElementFn<(A,)> for F {
    type Output = R;

    #[inline]
    fn apply(&self, (a,): &(Vec<A>,), to: &mut [R]) {
        for (to, &a) in to.iter_mut().zip(a) {
            *to = self(a);
        }
    }
}

impl<F: Fn(A, B) -> R + Sync, A: Readable, B: Readable, R: Readable> ElementFn<(A, B)> for F {
    type Output = R;

    #[inline]
    fn apply(&self, (a, b): &(Vec<A>, Vec<B>), to: &mut [R]) {
        for ((to, &a), &b) in to.iter_mut().zip(a).zip(b) {
            *to = self(a, b);
        }
    }
}

impl<F, A: Readable, B: Readable, C: Readable, R: Readable> ElementFn<(A, B, C)> for F
where
    F: Fn(A, B, C) -> R + Sync,
{
    type Output = R;

    #[inline]
    fn apply(&self, (a, b, c): &(Vec<A>, Vec<B>, Vec<C>), to: &mut [R]) {
        for (((to, &a), &b), &c) in to.iter_mut().zip(a).zip(b).zip(c) {
            *to = self(a, b, c);
        }
    }
}

/// The elements of one of the tensors.
fn elements_at<'a, T: Readable>(
    tensors: &[&'a ImportedTensor],
    at: usize,
) -> Result<Elements<'a, T>, Error> {
    let ndim = tensors.len();
    tensors.get(at).ok_or(Error::NoSuchAxis { axis: at, ndim })?.elements()
}

/// A function of the elements of tensors of one shape.
pub(crate) struct Map<'a, A: Arguments, F> {
    elements: A::Elements<'a>,
    blocks: Blocks<'a>,
    f: &'a F,
}

impl<'a, A: Arguments, F: ElementFn<A>> Map<'a, A, F> {
    /// A function of tensors that all have this shape.
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::elements`].
    pub(crate) fn new(
        tensors: &[&'a ImportedTensor],
        shape: &'a [i64],
        f: &'a F,
    ) -> Result<Self, Error> {
        let size = A::Elements::<'a>::SIZE.max(size_of::<F::Output>());
        Ok(Self { elements: A::elements(tensors)?, blocks: Blocks::new(shape, size), f })
    }

    /// Computes all results, in row-major order, on at most that many threads.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidBits`], [`Error::OutOfMemory`].
    pub(crate) fn to_slice(&self, to: &mut [F::Output], threads: usize) -> Result<(), Error> {
        let mut rest = to;
        on_threads(self.blocks.count, threads, |numbers| {
            let first = self.blocks.first_of(numbers.start);
            let len = self.blocks.first_of(numbers.end).wrapping_sub(first);
            let len = usize::try_from(len).unwrap_or(0).min(rest.len());
            let (mut to, others) = core::mem::take(&mut rest).split_at_mut(len);
            rest = others;
            move || {
                let mut buffers = A::Elements::<'a>::buffers(self.blocks.most)?;
                self.blocks.each(numbers, |block| {
                    self.elements.read(&block, &mut buffers)?;
                    let (these, others) = core::mem::take(&mut to).split_at_mut(block.numel());
                    to = others;
                    self.f.apply(&buffers, these);
                    Ok(())
                })
            }
        })
    }

    /// Writes all results to the elements of a tensor of the shape, on at most that many threads.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidBits`], [`Error::OutOfMemory`].
    pub(crate) fn to_elements(
        &self,
        to: &ElementsMut<'_, F::Output>,
        threads: usize,
    ) -> Result<(), Error> {
        let to = to.as_elements().as_shared();
        on_threads(self.blocks.count, threads, |numbers| {
            move || {
                let mut buffers = A::Elements::<'a>::buffers(self.blocks.most)?;
                let most = i64::try_from(self.blocks.most).unwrap_or(i64::MAX);
                let mut results = Zeroed::<F::Output>::new(F::Output::DTYPE, &[most])?;
                self.blocks.each(numbers, |block| {
                    self.elements.read(&block, &mut buffers)?;
                    let part = block.of(&to);
                    let results = results.as_mut_slice().get_mut(..part.len()).unwrap_or_default();
                    self.f.apply(&buffers, results);
                    ElementsMut::of_part(part).copy_from_slice(results)
                })
            }
        })
    }
}

/// Calls a function with ranges of numbers, in ascending order, and the functions that it returns on at
/// most that many threads, of which this thread is one. Returns one of their errors.
///
/// No thread waits for a lock: each has its part from the start. A part whose thread cannot start is
/// computed by this one.
fn on_threads<W: FnOnce() -> Result<(), Error> + Send>(
    count: i64,
    threads: usize,
    mut work: impl FnMut(Range<i64>) -> W,
) -> Result<(), Error> {
    /// Blocks that are worth a thread, which takes 20 µs to start: 128 KiB of elements.
    const LEAST: i64 = 16;
    /// The stack of a thread.
    const STACK: usize = 1 << 20;
    let threads = i64::try_from(threads).unwrap_or(i64::MAX).min(count.wrapping_div(LEAST)).max(1);
    let (each, larger) =
        (count.checked_div(threads).unwrap_or(0), count.checked_rem(threads).unwrap_or(0));
    let start = |part: i64| part.wrapping_mul(each).wrapping_add(part.min(larger));
    let mut part = |number: i64| work(start(number)..start(number.wrapping_add(1)));
    let own = part(0);
    if threads == 1 {
        return own();
    }
    let parts: Vec<_> = (1..threads).map(|number| Mutex::new(Some(part(number)))).collect();
    let run = |part: &Mutex<Option<W>>| {
        let work = part.lock().ok().and_then(|mut part| part.take());
        work.map_or(Ok(()), |work| work())
    };
    thread::scope(|scope| {
        let spawned: Vec<_> = parts
            .iter()
            .map(|part| {
                let builder = thread::Builder::new().stack_size(STACK);
                builder.spawn_scoped(scope, move || run(part))
            })
            .collect();
        let mut result = own();
        for (thread, part) in spawned.into_iter().zip(&parts) {
            let other = match thread {
                Ok(thread) => thread.join().unwrap_or_else(|payload| panic::resume_unwind(payload)),
                Err(_) => run(part),
            };
            result = result.and(other);
        }
        result
    })
}
