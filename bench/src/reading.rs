//! Reading and writing the elements of an imported tensor, beside a slice of the same
//! memory, and beside an array of NumPy through rust-numpy.

use std::hint::black_box;
use std::rc::Rc;

use dlpack_traits::{
    AnyBits, DLPackExport, Describe, Description, Elements, Error, ImportedTensor, SharedBuffer,
    Storage,
};

use crate::measure::{BATCH, Subject, timed};
use crate::report::{Entry, Report};
#[cfg(feature = "rust-numpy")]
use crate::rust_numpy;

/// Numbers of elements. Only the rows of the large tensors have a bar: those of 10,000
/// elements may take 300 ns more than 1.5 times the time of the slice.
const SIZES: [(&str, usize); 2] = [("10,000", SMALL), ("16 M", 1 << 24)];
const SMALL: usize = 10_000;

/// The nanoseconds that a bar permits in addition, for the call: it counts in a small tensor.
fn call_of(len: usize) -> f64 {
    if len == SMALL { 300.0 } else { 0.0 }
}

/// A buffer with any layout.
struct Strided<T, const N: usize>(SharedBuffer<T>, [i64; N], [i64; N]);

impl<T: AnyBits, const N: usize> DLPackExport for Strided<T, N> {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&self.1).strides(&self.2).data(self.0.data())
    }
}

/// Imports a tensor as a foreign consumer does, through the C struct.
fn matrix<T: AnyBits, const N: usize>(
    elements: &[T],
    shape: [i64; N],
    strides: [i64; N],
) -> Rc<ImportedTensor> {
    let buffer = SharedBuffer::from_slice(elements).expect("memory");
    in_huge_pages(buffer.data().as_ptr(), size_of_val(elements));
    let managed = Strided(buffer, shape, strides).into_dlpack().expect("a tensor").into_raw();
    // SAFETY: 1. to 4. `into_raw` returned a valid struct, which this function owns. 5. This
    // program has one thread, which does not write while it reads.
    Rc::new(unsafe { ImportedTensor::from_raw(managed) }.expect("a valid struct"))
}

/// Asks for huge pages, as NumPy does for its arrays: without them, NumPy takes 6.6 ms instead of
/// 4.8 for every second column of 16 M `f32`. A system that has none keeps its pages.
#[cfg(target_os = "linux")]
fn in_huge_pages(data: *const u8, len: usize) {
    const HUGE: usize = 2 << 20;
    let start = data.addr().next_multiple_of(HUGE);
    let end = (data.addr() + len) & !(HUGE - 1);
    if start >= end {
        return;
    }
    let start = data.with_addr(start).cast_mut().cast();
    for advice in [libc::MADV_HUGEPAGE, libc::MADV_COLLAPSE] {
        // SAFETY: the pages are those of the buffer, whose bytes stay as they are.
        unsafe { libc::madvise(start, end - start.addr(), advice) };
    }
}

#[cfg(not(target_os = "linux"))]
fn in_huge_pages(_: *const u8, _: usize) {}

/// The memory of a contiguous matrix as a slice.
fn slice<T>(tensor: &ImportedTensor, len: usize) -> &[T] {
    // SAFETY: the tensor has these elements, aligned, and nothing writes them.
    unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast(), len) }
}

/// One operation, timed once per round, or eight times in a row if it takes less than 100 µs: the
/// clock has steps of 10 ns.
pub fn entry(name: &str, mut operation: impl FnMut() + 'static) -> Entry {
    let is_short = timed(&mut operation) < 1e5;
    let operations = if is_short { 8 } else { 1 };
    let subject = Subject::new(name, move || {
        let nanoseconds = timed(|| (0..operations).for_each(|_| operation()));
        nanoseconds / f64::from(operations) * BATCH as f64
    });
    Entry { subject, allocations: None }
}

fn elements<T: AnyBits>(tensor: &ImportedTensor) -> Elements<'_, T> {
    black_box(tensor).elements().expect("elements of this type")
}

/// A sum by 32 sums, as a compiler may not reorder one.
#[inline(never)]
fn sum(values: &[f32]) -> f32 {
    let mut sums = [0.0; 32];
    let (chunks, rest) = values.as_chunks::<32>();
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += value;
        }
    }
    sums.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

#[inline(never)]
fn wrapping_sum(values: &[i32]) -> i32 {
    values.iter().fold(0, |sum, &value| sum.wrapping_add(value))
}

#[inline(never)]
fn max(values: &[u8]) -> u8 {
    values.iter().copied().max().unwrap_or(0)
}

/// The number types of both crates.
#[cfg(feature = "rust-numpy")]
trait Number: AnyBits + numpy::Element {}
#[cfg(feature = "rust-numpy")]
impl<T: AnyBits + numpy::Element> Number for T {}
#[cfg(not(feature = "rust-numpy"))]
use AnyBits as Number;

/// The rows of one kernel over a contiguous tensor, which has these values. The floor copies one
/// block after another by `memcpy`, which races with other writers, and computes on the copy.
fn kernel<T: Number, A: Copy + 'static>(
    tensor: &Rc<ImportedTensor>,
    values: &[T],
    start: A,
    whole: impl Fn(&[T]) -> A + Copy + 'static,
    combine: impl Fn(A, A) -> A + Copy + 'static,
    each: impl Fn(A, T) -> A + Copy + 'static,
) -> Vec<Entry> {
    let len = values.len();
    let [a, b, c, d] = [0; 4].map(|_| Rc::clone(tensor));
    // As large as the blocks of this crate.
    let block = if len == SMALL { 8192 } else { 4096 } / size_of::<T>();
    let mut block = values[..block.min(len)].to_vec();
    vec![
        entry("slice", move || {
            black_box(whole(black_box(slice::<T>(&a, len))));
        }),
        entry("floor", move || {
            let mut result = start;
            for from in black_box(slice::<T>(&d, len)).chunks(block.len()) {
                let to = &mut block[..from.len()];
                to.copy_from_slice(from);
                result = combine(result, whole(black_box(to)));
            }
            black_box(result);
        }),
        entry("dlpack-traits, for_each_block", move || {
            let mut result = start;
            elements::<T>(&b).for_each_block(|block| result = combine(result, whole(block)));
            black_box(result);
        }),
        entry("dlpack-traits, iter", move || {
            black_box(elements::<T>(&c).iter().fold(start, each));
        }),
        #[cfg(feature = "rust-numpy")]
        rust_numpy::kernel(values, whole),
    ]
}

/// The rows of contiguous tensors.
fn contiguous(report: &mut Report, (title, len): (&str, usize), rounds: usize) {
    let shape = [1, i64::try_from(len).expect("a dimension")];
    let strides = [shape[1], 1];
    let at_most = |ratio: f64| if len == SMALL { Some(1.5) } else { Some(ratio) };
    let (bar, call) = (at_most(1.25), call_of(len));
    let bytes: Vec<u8> = (0..=250).cycle().take(len).collect();
    let tensor = matrix(&bytes, shape, strides);
    let larger = |a: u8, b: u8| a.max(b);
    let entries = kernel(&tensor, &bytes, 0, max, larger, larger);
    report.row_with_call(&format!("maximum of {title} u8"), bar, call, entries, rounds);
    let numbers: Vec<i32> = (0..1000).cycle().take(len).collect();
    let tensor = matrix(&numbers, shape, strides);
    let add = i32::wrapping_add;
    let entries = kernel(&tensor, &numbers, 0, wrapping_sum, add, add);
    report.row_with_call(&format!("sum of {title} i32"), bar, call, entries, rounds);
    let numbers: Vec<f32> = (0..1000_u16).map(f32::from).cycle().take(len).collect();
    let tensor = matrix(&numbers, shape, strides);
    let entries = kernel(&tensor, &numbers, 0.0, sum, |a, b| a + b, |a, b| a + b);
    report.row_with_call(&format!("sum of {title} f32"), bar, call, entries, rounds);
    let (a, b) = (Rc::clone(&tensor), tensor);
    let copies = vec![
        entry("slice", move || drop(black_box(slice::<f32>(&a, len).to_vec()))),
        entry("dlpack-traits, to_vec", move || {
            black_box(elements::<f32>(&b).to_vec().expect("memory"));
        }),
        #[cfg(feature = "rust-numpy")]
        rust_numpy::to_vec(&numbers),
    ];
    let name = format!("copy of {title} f32 to a vector");
    report.row_with_call(&name, at_most(1.1), call, copies, rounds);
    let mut own = numbers.clone();
    let mut by_blocks = Rc::into_inner(matrix(&numbers, shape, strides)).expect("one owner");
    let mut by_map = Rc::into_inner(matrix(&numbers, shape, strides)).expect("one owner");
    let scaled = vec![
        entry("slice", move || {
            for value in black_box(&mut own[..]) {
                *value *= 1.000_1;
            }
        }),
        entry("dlpack-traits, map_in_place", move || {
            let mut elements = by_map.elements_mut::<f32>().expect("writable floats");
            elements.map_in_place(|value| value * 1.000_1);
        }),
        entry("dlpack-traits, update_blocks", move || {
            let mut elements = by_blocks.elements_mut::<f32>().expect("writable floats");
            elements.update_blocks(|block| block.iter_mut().for_each(|value| *value *= 1.000_1));
        }),
        #[cfg(feature = "rust-numpy")]
        rust_numpy::scaled(&numbers, 1.000_1),
    ];
    let name = format!("{title} f32 scaled in place");
    report.row_with_call(&name, at_most(1.7), call, scaled, rounds);
}

/// The rows of a strided tensor. `plain` is the same sum over a slice of its memory. Their bar is
/// relative to NumPy, whose times the page adds.
fn strided(
    report: &mut Report,
    title: &str,
    (numbers, shape, strides): (&[f32], [i64; 2], [i64; 2]),
    plain: impl Fn(&[f32]) -> f32 + 'static,
    rounds: usize,
) {
    let len = numbers.len();
    let tensor = matrix(numbers, shape, strides);
    let [a, b, c] = [0; 3].map(|_| Rc::clone(&tensor));
    let entries = vec![
        entry("loop over a slice", move || {
            black_box(plain(black_box(slice(&tensor, len))));
        }),
        entry("dlpack-traits, for_each_block_unordered", move || {
            let mut total = 0.0;
            elements::<f32>(&a).for_each_block_unordered(|block| total += sum(block));
            black_box(total);
        }),
        entry("dlpack-traits, for_each_block", move || {
            let mut total = 0.0;
            elements::<f32>(&b).for_each_block(|block| total += sum(block));
            black_box(total);
        }),
        entry("dlpack-traits, iter", move || {
            black_box(elements::<f32>(&c).iter().sum::<f32>());
        }),
        #[cfg(feature = "rust-numpy")]
        rust_numpy::sum(numbers, shape, strides),
    ];
    report.row(title, None, entries, rounds);
}

/// Every row.
pub fn all(report: &mut Report, rounds: usize) {
    for (title, len) in SIZES {
        // A round is one operation.
        let rounds = if len > 1 << 20 { rounds.div_ceil(200) } else { rounds };
        contiguous(report, (title, len), rounds);
        let side = if len > 1 << 20 { 4096 } else { 100 };
        let numbers: Vec<f32> = (0..1000_u16).map(f32::from).cycle().take(2 * len).collect();
        let transposed = (&numbers[..len], [side, side], [1, side]);
        strided(report, &format!("sum of {title} f32, transposed"), transposed, sum, rounds);
        let columns = (&numbers[..], [side, side], [2 * side, 2]);
        let plain = |values: &[f32]| {
            let mut sums = [0.0; 8];
            for chunk in values.as_chunks::<16>().0 {
                for (sum, two) in sums.iter_mut().zip(chunk.as_chunks::<2>().0) {
                    *sum += two[0];
                }
            }
            sums.iter().sum()
        };
        strided(
            report,
            &format!("sum of {title} f32, every second column"),
            columns,
            plain,
            rounds,
        );
        scaled_with_gaps(report, title, columns, rounds);
    }
    nine_axes(report, rounds);
}

/// The row of copies of tensors with reversed axes, of which a copy stores eight in place.
fn nine_axes(report: &mut Report, rounds: usize) {
    let numbers = [1.0_f32; 19_683];
    let copy = |name: &str, tensor: Rc<ImportedTensor>| {
        entry(name, move || drop(black_box(elements::<f32>(&tensor).to_vec())))
    };
    let eight = [9, 3, 3, 3, 3, 3, 3, 3];
    let of_eight = [1, 9, 27, 81, 243, 729, 2187, 6561];
    let of_nine = [1, 3, 9, 27, 81, 243, 729, 2187, 6561];
    let entries = vec![
        copy("dlpack-traits, eight axes", matrix(&numbers, eight, of_eight)),
        copy("dlpack-traits, nine axes", matrix(&numbers, [3; 9], of_nine)),
    ];
    report.row("copy of 19,683 f32 to a vector, axes reversed", None, entries, rounds);
}

/// The row of a tensor with gaps between its elements, which is changed in place.
fn scaled_with_gaps(
    report: &mut Report,
    title: &str,
    (numbers, shape, strides): (&[f32], [i64; 2], [i64; 2]),
    rounds: usize,
) {
    let mut own = numbers.to_vec();
    let mut by_map = Rc::into_inner(matrix(numbers, shape, strides)).expect("one owner");
    let entries = vec![
        entry("loop over a slice", move || {
            for two in black_box(&mut own[..]).as_chunks_mut::<2>().0 {
                two[0] *= 1.000_1;
            }
        }),
        entry("dlpack-traits, map_in_place", move || {
            let mut elements = by_map.elements_mut::<f32>().expect("writable floats");
            elements.map_in_place(|value| value * 1.000_1);
        }),
    ];
    let title = format!("{title} f32 scaled in place, every second column");
    report.row(&title, None, entries, rounds);
}
