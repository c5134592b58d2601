//! Copies: contiguous, aligned, exclusive to the consumer, and equal to the source.

use core::mem::MaybeUninit;
use std::sync::Arc;

use dlpack_tests::counted::Owner;
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use dlpack_tests::positions::positions;
use dlpack_tests::random::Random;
use tensors::{
    AnyBits, DLPackExport, DataRef, DataType, Describe, Description, Device, Error, SharedBuffer,
    Storage, StreamArg, Synchronize, ffi,
};

/// Checks the properties of every copy.
fn of(owner: &dyn DLPackExport) -> ImportedStorage {
    let tensor: ImportedStorage = owner.copy_to_dlpack().unwrap().into();
    assert!(tensor.is_copied() && tensor.is_writable());
    assert_eq!(tensor.tensor().byte_offset, 0);
    assert_eq!(tensor.data().addr() % 64, 0, "JAX wants 64 bytes");
    let shape = tensor.shape();
    let compact: Vec<i64> = (0..shape.len())
        .map(|axis| shape[axis + 1..].iter().map(|dim| dim.max(&1)).product())
        .collect();
    assert_eq!(tensor.strides(), compact);
    let view = owner.tensor().unwrap();
    assert_eq!(
        (tensor.shape(), tensor.tensor().dtype),
        (view.shape().to_vec(), view.dtype().into())
    );
    if view.numel() == 0 {
        assert!(tensor.data().is_null());
    } else {
        assert_ne!(tensor.data().cast_const(), view.data_ptr());
    }
    tensor
}

/// Shape, strides, offset in bytes; and the elements of the copy.
type Row<'a> = (&'a [i64], &'a [i64], u64, &'a [i32]);

/// Layouts of eight elements, and which of them a copy has, in its order.
#[test]
fn copies_equal_hand_written_values() {
    let large = [2, 1, 1, 2, 1, 1, 1, 1, 2];
    let transposed = [1, 9, 9, 2, 9, 9, 9, 9, 4];
    let cases: [Row; 9] = [
        (&[8], &[1], 0, &[0, 1, 2, 3, 4, 5, 6, 7]),
        (&[8], &[-1], 28, &[7, 6, 5, 4, 3, 2, 1, 0]),
        (&[2, 2, 2], &[4, 2, 1], 0, &[0, 1, 2, 3, 4, 5, 6, 7]),
        (&[2, 2, 2], &[1, 2, 4], 0, &[0, 4, 2, 6, 1, 5, 3, 7]),
        (&[2, 3], &[5, 1], 0, &[0, 1, 2, 5, 6, 7]),
        (&[2, 3], &[0, -2], 24, &[6, 4, 2, 6, 4, 2]),
        (&[], &[], 20, &[5]),
        (&[3, 0, 2], &[1, 1, 1], 0, &[]),
        (&large, &transposed, 0, &[0, 4, 2, 6, 1, 5, 3, 7]),
    ];
    let numbers: [i32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
    for (shape, strides, offset, expected) in cases {
        let frozen = Owner::new(Arc::new(numbers), shape).strided(strides, offset);
        let exclusive = Owner::new(numbers.to_vec(), shape).strided(strides, offset);
        let buffer = SharedBuffer::from_slice(&numbers).unwrap();
        let shared = Owner::new(buffer, shape).strided(strides, offset);
        let owners: [&dyn DLPackExport; 3] = [&frozen, &exclusive, &shared];
        for owner in owners {
            let tensor = of(owner);
            assert_eq!(tensor.elements::<i32>(), expected, "{shape:?} {strides:?}");
            tensor.write(|n: i32| -n);
            tensor.delete(Farewell::CopyOfWiped);
        }
        assert_eq!(*frozen.data, numbers);
        assert_eq!(exclusive.data, numbers);
        assert_eq!(shared.data.to_vec(), numbers);
    }
}

/// Elements of several lanes, of 16 bytes, and of a size that is not a power of two.
#[test]
fn wide_elements_are_copied() {
    for (dtype, size) in [
        (DataType::F32.with_lanes(2), 8),
        (DataType::F32.with_lanes(3), 12),
        (DataType::U8.with_lanes(3), 3),
        (DataType::COMPLEX128, 16),
        (DataType::new(ffi::kDLInt, 4, 2), 1),
        (DataType::U16.with_lanes(30), 60),
    ] {
        let bytes: Vec<u8> = (0..6 * size).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let buffer = SharedBuffer::from_slice(&bytes).unwrap();
        let owner = Owner::new(buffer, &[2, 3]).strided(&[1, 2], 0).dtype(dtype);
        let tensor = of(&owner);
        let copied = read_bytes(&tensor, bytes.len());
        let expected: Vec<u8> =
            [0, 2, 4, 1, 3, 5].iter().flat_map(|n| bytes[n * size..][..size].to_vec()).collect();
        assert_eq!(copied, expected, "{dtype}");
        tensor.delete(Farewell::Plain);
    }
}

fn read_bytes(tensor: &ImportedStorage, len: usize) -> Vec<u8> {
    // SAFETY: the caller names no more bytes than the elements have.
    unsafe { core::slice::from_raw_parts(tensor.data(), len) }.to_vec()
}

/// Elements packed into bytes: contiguous ones are copied as they are, to the last bit;
/// others are refused with an error, never copied wrongly.
#[test]
fn packed_elements_are_copied() {
    for (dtype, shape, len) in [
        (DataType::FLOAT4_E2M1FN, &[3, 3][..], 5),
        (DataType::new(ffi::kDLUInt, 1, 1), &[17], 3),
        (DataType::FLOAT6_E2M3FN, &[4], 3),
        (DataType::FLOAT6_E3M2FN, &[3], 3),
        (DataType::new(ffi::kDLInt, 4, 1), &[], 1),
        (DataType::new(ffi::kDLInt, 4, 3), &[2, 1], 3),
        (DataType::new(ffi::kDLUInt, 2, 1), &[0], 0),
    ] {
        for first in [0_usize, 1] {
            let bytes: Vec<u8> = (1..=8).map(|n| n * 29).collect();
            let mut owner = Owner::new(bytes.clone(), shape).dtype(dtype);
            owner.byte_offset = first as u64;
            let tensor = of(&owner);
            if len > 0 {
                assert_eq!(read_bytes(&tensor, len), bytes[first..][..len], "{dtype} {shape:?}");
            }
            tensor.delete(Farewell::Plain);
        }
    }
    let dtype = DataType::FLOAT4_E2M1FN;
    for (shape, strides) in [(&[2, 2][..], &[1, 2][..]), (&[3], &[2]), (&[2], &[0])] {
        let owner = Owner::new(vec![0_u8; 8], shape).strided(strides, 0).dtype(dtype);
        assert!(owner.tensor().is_ok());
        assert_eq!(owner.copy_to_dlpack().unwrap_err(), Error::PackedStrides { dtype });
    }
}

/// A copy of memory that the processor cannot read is refused; a copy of pinned memory is
/// ordinary memory.
#[test]
fn copies_of_device_memory_are_refused() {
    struct On(Device, Vec<i32>);

    impl Storage for On {
        fn data(&self) -> DataRef<'_> {
            let bytes: &[u8] = bytemuck::cast_slice(&self.1);
            // SAFETY: borrowed, frozen memory; the device is a claim that the
            // library has to act on before it reads.
            let data = unsafe {
                DataRef::from_raw_parts(bytes.as_ptr(), bytes.len(), DataType::I32, self.0)
            };
            // SAFETY: 1. and 2. No device works on it.
            unsafe { data.synchronized_by(self) }
        }
    }

    impl Synchronize for On {
        fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
            Ok(())
        }
    }

    for device in [Device::cuda(1), Device::rocm(0), Device::CUDA_MANAGED] {
        let owner = Owner::new(On(device, vec![1, 2]), &[2]);
        assert_eq!(owner.copy_to_dlpack().unwrap_err(), Error::NotOnHost { device });
    }
    let opencl = Device::new(ffi::kDLOpenCL, 0);
    let owner = Owner::new(On(opencl, vec![1, 2]), &[2]);
    assert_eq!(owner.copy_to_dlpack().unwrap_err(), Error::NotOnHost { device: opencl });
    let pinned = Owner::new(On(Device::CUDA_HOST, vec![1, 2]), &[2]);
    let tensor = of(&pinned);
    assert_eq!(Device::from(tensor.tensor().device), Device::CPU);
    assert_eq!(tensor.elements::<i32>(), [1, 2]);
    tensor.delete(Farewell::Plain);
}

/// Random strided layouts of all element sizes.
#[test]
fn random_layouts_are_copied() {
    const CASES: usize = if cfg!(miri) { 12 } else { 5_000 };
    let mut random = Random::new(6);
    let bytes: Vec<u8> = (0..=255).collect();
    let frozen: Arc<[u8]> = Arc::from(bytes.clone());
    let shared = SharedBuffer::from_slice(&bytes).unwrap();
    let mut copied = 0;
    for case in 0..CASES {
        let dtype = random.pick(&[
            DataType::U8,
            DataType::I16,
            DataType::F32,
            DataType::F64,
            DataType::U8.with_lanes(3),
            DataType::U16.with_lanes(3),
        ]);
        let size = dtype.byte_size().unwrap();
        let ndim = random.below(5);
        let shape: Vec<i64> = (0..ndim).map(|_| random.within(1..=3)).collect();
        let strides: Vec<i64> = (0..ndim).map(|_| random.within(-4..=4)).collect();
        // 24 is a multiple of the alignment of every type here.
        let first = random.below(9) * 24;
        // A slice of bytes may begin anywhere, so the frozen one is only used for bytes.
        let frozen = Owner::new(Arc::clone(&frozen), &shape);
        let shared = Owner::new(shared.clone(), &shape);
        let frozen = frozen.strided(&strides, first as u64).dtype(dtype);
        let shared = shared.strided(&strides, first as u64).dtype(dtype);
        let owner: &dyn DLPackExport =
            if dtype.bits() == 8 && case % 2 == 0 { &frozen } else { &shared };
        if owner.tensor().is_err() {
            continue;
        }
        copied += 1;
        let tensor = of(owner);
        let mut expected = Vec::new();
        for position in positions(&shape, &strides) {
            let start = i64::try_from(first).unwrap() + position * i64::try_from(size).unwrap();
            expected.extend_from_slice(&bytes[usize::try_from(start).unwrap()..][..size]);
        }
        assert_eq!(read_bytes(&tensor, expected.len()), expected, "{shape:?} {strides:?} {dtype}");
        tensor.delete(Farewell::Plain);
    }
    println!("copies: {copied} of {CASES} layouts fit");
    assert!(copied * 2 > CASES);
}

/// Compares a copy of a matrix of numbers with its axes in any order with one made
/// element by element.
fn compare<T: AnyBits + PartialEq + core::fmt::Debug>(
    storage: impl Storage,
    numbers: &[T],
    shape: &[i64],
    strides: &[i64],
    first: usize,
) {
    let owner = Owner::new(storage, shape).strided(strides, (first * size_of::<T>()) as u64);
    let tensor = of(&owner);
    let places = positions(shape, strides);
    let expected: Vec<T> = places
        .iter()
        .map(|place| numbers[usize::try_from(*place + i64::try_from(first).unwrap()).unwrap()])
        .collect();
    assert!(tensor.elements::<T>() == expected, "{shape:?} {strides:?}");
    tensor.delete(Farewell::Plain);
}

/// Matrices that lie the other way round, larger than a tile and no multiple of one.
#[test]
fn transposed_matrices_are_copied() {
    fn of_type<T: AnyBits + bytemuck::Pod + PartialEq + core::fmt::Debug>() {
        let (a, b, c) = if cfg!(miri) { (2, 17, 18) } else { (3, 35, 50) };
        let len = usize::try_from(a * b * c).unwrap();
        let bytes: Vec<u8> =
            (0..len * size_of::<T>()).map(|n| u8::try_from(n * 7 % 251).unwrap()).collect();
        let numbers: Vec<T> =
            bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect();
        let frozen: Arc<[T]> = Arc::from(numbers.clone());
        let shared = SharedBuffer::from_slice(&numbers).unwrap();
        for (number, (shape, strides)) in [
            ([a, c, b], [b * c, 1, c]),
            ([c, b, a], [1, c, b * c]),
            ([c, a, b], [1, b * c, c]),
            ([b, c, a], [c, 1, b * c]),
        ]
        .into_iter()
        .enumerate()
        {
            // Every size and every order, but under Miri not every order of every size.
            if cfg!(miri) && size_of::<T>() != 1 << number {
                continue;
            }
            compare(Arc::clone(&frozen), &numbers, &shape, &strides, 0);
            compare(shared.clone(), &numbers, &shape, &strides, 0);
            let backwards = strides.map(|stride| -stride);
            compare(Arc::clone(&frozen), &numbers, &shape, &backwards, len - 1);
        }
    }
    of_type::<u8>();
    of_type::<u16>();
    of_type::<i32>();
    of_type::<u64>();
}

/// Copies of 9 MB: contiguous, transposed, reversed, with a gap, and with a stride of 0.
#[test]
#[cfg_attr(miri, ignore = "many elements; smaller tensors take the same code")]
fn large_tensors_are_copied() {
    const SIDE: i64 = 1_501;
    let len = usize::try_from(SIDE * SIDE).unwrap();
    let numbers: Vec<u32> = (0..u32::try_from(len).unwrap()).collect();
    let frozen: Arc<[u32]> = Arc::from(numbers.clone());
    let shared = SharedBuffer::from_slice(&numbers).unwrap();
    for (shape, strides, first) in [
        ([SIDE, SIDE], [SIDE, 1], 0),
        ([SIDE, SIDE], [1, SIDE], 0),
        ([SIDE, SIDE], [-SIDE, -1], len - 1),
        ([SIDE, SIDE - 1], [SIDE, 1], 1),
        ([SIDE, SIDE], [0, 1], 5),
    ] {
        compare(Arc::clone(&frozen), &numbers, &shape, &strides, first);
    }
    compare(shared.clone(), &numbers, &[SIDE, SIDE], &[SIDE, 1], 0);
    compare(shared, &numbers, &[SIDE, SIDE], &[1, SIDE], 0);
}

/// Copies of 4 MiB and more are made to memory for which huge pages were requested, as NumPy
/// requests them: without them most of the time is spent in page faults.
#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn large_copies_are_made_to_huge_pages() {
    use std::io::Write as _;

    const LEN: usize = 2 << 20;
    if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        // Not `eprintln!`, which the test harness captures.
        let _ = writeln!(std::io::stderr(), "skipped: this system has no huge pages");
        return;
    }
    let numbers = SharedBuffer::from_slice(&vec![1_u32; LEN]).unwrap();
    let flat = Flat(numbers.clone(), [LEN]);
    let exported = of(&flat);
    assert!(prefers_huge_pages(exported.data().addr() + LEN * 2));
    let imported = flat.into_dlpack().unwrap().import().unwrap();
    for copy in [imported.elements::<u32>().unwrap().to_vec().unwrap(), numbers.to_vec()] {
        assert!(copy.len() == LEN && copy.iter().all(|&number| number == 1));
        assert!(prefers_huge_pages(copy[LEN / 2..].as_ptr().addr()));
    }
    exported.delete(Farewell::Plain);
}

/// Whether the pages at an address have the advice: `hg` in `/proc/self/smaps`.
#[cfg(all(target_os = "linux", not(miri)))]
fn prefers_huge_pages(address: usize) -> bool {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut lines = maps.lines();
    lines.find(|line| contains(line, address)).expect("mapped memory");
    let flags = lines.find_map(|line| line.strip_prefix("VmFlags:")).expect("flags");
    flags.split_whitespace().any(|flag| flag == "hg")
}

/// Whether a line is the first one of the mapping with this address: `from-to ...`.
#[cfg(all(target_os = "linux", not(miri)))]
fn contains(line: &str, address: usize) -> bool {
    let bounds = line.split_whitespace().next().and_then(|range| range.split_once('-'));
    bounds.is_some_and(|(from, to)| {
        let [from, to] = [from, to].map(|bound| usize::from_str_radix(bound, 16));
        matches!((from, to), (Ok(from), Ok(to)) if (from..to).contains(&address))
    })
}

/// A one-dimensional tensor.
#[cfg(all(target_os = "linux", not(miri)))]
struct Flat(SharedBuffer<u32>, [usize; 1]);

#[cfg(all(target_os = "linux", not(miri)))]
impl DLPackExport for Flat {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&self.1).data(self.0.data())
    }
}

/// Three numbers in each of four columns, which are four apart. The last one of each is
/// padding that no one has written, as in faer's `Mat`.
struct Padded {
    numbers: Box<[MaybeUninit<f32>; 16]>,
    is_transposed: bool,
}

impl Padded {
    fn new(is_transposed: bool) -> Self {
        let mut numbers = Box::new([MaybeUninit::uninit(); 16]);
        for (column, tens) in numbers.chunks_exact_mut(4).zip([0.0, 10.0, 20.0, 30.0]) {
            for (number, ones) in column.iter_mut().zip([0.0, 1.0, 2.0]) {
                number.write(tens + ones);
            }
        }
        Self { numbers, is_transposed }
    }
}

impl DLPackExport for Padded {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        let pointer = self.numbers.as_ptr().cast();
        // SAFETY: 1. and 3. The array is alive and borrowed. 2. is not kept: the padding is
        // not initialized, so that Miri reports a read of it.
        let data = unsafe { DataRef::from_raw_parts(pointer, 64, DataType::F32, Device::CPU) };
        let (shape, strides) =
            if self.is_transposed { (&[4, 3], &[4, 1]) } else { (&[3, 4], &[1, 4]) };
        out.shape(shape).strides(strides).data(data)
    }
}

/// Only the elements of a tensor are read. Miri reports a read of the bytes between them.
#[test]
fn padding_is_not_read() {
    let rows = [0.0, 10.0, 20.0, 30.0, 1.0, 11.0, 21.0, 31.0, 2.0, 12.0, 22.0, 32.0];
    let columns = [0.0, 1.0, 2.0, 10.0, 11.0, 12.0, 20.0, 21.0, 22.0, 30.0, 31.0, 32.0];
    for (is_transposed, expected) in [(false, rows), (true, columns)] {
        let padded = || Padded::new(is_transposed);
        let copy = of(&padded());
        assert_eq!(copy.elements::<f32>(), expected);
        copy.delete(Farewell::Plain);
        let shared = Arc::new(padded());
        for tensor in [shared.to_dlpack().unwrap(), padded().into_dlpack().unwrap()] {
            let tensor = tensor.import().unwrap();
            assert_eq!(tensor.elements::<f32>().unwrap().to_vec().unwrap(), expected);
            let codes: Vec<u64> = expected.iter().map(|n: &f32| n.to_bits().into()).collect();
            assert_eq!(tensor.raw_bits().unwrap().iter().collect::<Vec<_>>(), codes);
            let frozen: Vec<f32> = tensor.frozen().unwrap().elements().unwrap().copied().collect();
            assert_eq!(frozen, expected);
            let copy = tensor.to_own_copy().unwrap();
            assert_eq!(copy.elements::<f32>().unwrap().to_vec().unwrap(), expected);
        }
    }
}
