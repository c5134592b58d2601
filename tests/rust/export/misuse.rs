//! Safe code that calls the builders in any order, changes its answers, panics anywhere, and
//! accesses one memory in every way at the same time.

#![forbid(unsafe_code)]

use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::panic::catch_unwind;
use std::thread;

use dlpack_tests::counted::Owner;
use dlpack_tests::random::Random;
use tensors::{
    AnyBits, AsDims, DLPackExport, DataType, Describe, Description, DescriptionMut, Element, Error,
    ExportArc, ImportedStorage, ImportedTensor, Lanes, Layout, Order, SharedBuffer, Slot, Storage,
};

/// Bytes of the memory of each storage, all of which are 1.
const BYTES: usize = 64;

#[derive(Clone, Copy, Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(transparent)]
struct Rgb([u8; 3]);

/// A number that a description can contain.
fn number(random: &mut Random) -> i64 {
    match random.below(12) {
        0 => i64::MAX,
        1 => i64::MIN,
        2 => -1,
        3 => 0,
        4 => -2,
        small => i64::try_from(small % 3).unwrap() + 1,
    }
}

/// A list of numbers, as long as the limits of a slot or short.
fn list(random: &mut Random) -> Vec<i64> {
    let len = random.pick(&[0, 1, 2, 2, 3, 4, 8, 9, 64, 65]);
    let few = |random: &mut Random| random.pick(&[1, 1, 1, 1, 2, 0]);
    (0..len).map(|_| if len > 4 { few(random) } else { number(random) }).collect()
}

/// A call of a builder. Lists are given by their index.
#[derive(Clone, Copy, Debug)]
enum Call {
    Order(Order),
    Rank(i64),
    Strides(usize),
    WideStrides(usize),
    Computed(usize),
    Absent,
    ByteStrides(usize),
    Pitch(i64),
    BytePitch(i64),
    Offset(i64),
    ByteOffset(i64),
    Len(i64),
    ByteLen(i64),
    Type(DataType),
    Padded,
    ReadOnly,
    Refused,
}

fn call(random: &mut Random) -> Call {
    let (which, one) = (random.below(3), number(random));
    match random.below(20) {
        0 | 1 => Call::Order(Order::ColumnMajor),
        2 => Call::Order(Order::RowMajor),
        3..=5 => Call::Rank(random.pick(&[0, 1, 2, 3, 4, 8, 9])),
        6 => Call::Rank(one),
        7 | 8 => Call::Strides(which),
        9 => Call::WideStrides(which),
        10 => random.pick(&[Call::Computed(which), Call::Absent]),
        11 => Call::ByteStrides(which),
        12 => Call::Pitch(one),
        13 => Call::BytePitch(one),
        14 => Call::Offset(one),
        15 => Call::ByteOffset(one),
        16 => random.pick(&[Call::Len(one), Call::ByteLen(one)]),
        17 => Call::Type(random.pick(&[DataType::F32, DataType::U8, DataType::I16])),
        18 => random.pick(&[Call::Padded, Call::Refused]),
        _ => Call::ReadOnly,
    }
}

/// The memory of a description.
enum Data {
    Bytes(Vec<u8>),
    Shared(SharedBuffer<u8>),
    Lanes(Vec<Lanes<u8, 4>>),
    Pixels(Vec<Rgb>),
}

/// A tensor that calls the builder in this order.
struct Called {
    shape: Vec<i64>,
    strides: [Vec<i64>; 3],
    wide: [Vec<usize>; 3],
    calls: Vec<Call>,
    data: Data,
}

impl Called {
    fn new(random: &mut Random) -> Self {
        let shape = list(random);
        let strides = [(); 3].map(|()| match random.below(3) {
            0 => list(random),
            _ => shape.iter().map(|_| number(random)).collect(),
        });
        let wide = |&number: &i64| usize::try_from(number).unwrap_or(usize::MAX);
        let wide = strides.each_ref().map(|list| list.iter().map(wide).collect());
        let calls = (0..random.below(7)).map(|_| call(random)).collect();
        let data = match random.below(4) {
            0 => Data::Bytes(vec![1; BYTES]),
            1 => Data::Shared(SharedBuffer::from_slice(&[1; BYTES]).unwrap()),
            2 => Data::Lanes(vec![Lanes([1; 4]); BYTES / 4]),
            _ => Data::Pixels(vec![Rgb([1; 3]); BYTES / 3]),
        };
        Self { shape, strides, wide, calls, data }
    }

    fn layout(&self) -> Layout<'_> {
        self.calls.iter().fold(Layout::new(&self.shape), |layout, &call| match call {
            Call::Order(order) => layout.order(order),
            Call::Rank(ndim) => layout.rank(ndim),
            Call::Strides(list) => layout.strides(&self.strides[list]),
            Call::WideStrides(list) => layout.strides(&self.wide[list]),
            Call::Computed(list) => layout.strides(self.strides[list].clone()),
            Call::Absent => layout.strides(None::<&[i64; 2]>),
            Call::ByteStrides(list) => layout.byte_strides(&self.strides[list]),
            Call::Pitch(elements) => layout.pitch(elements),
            Call::BytePitch(bytes) => layout.byte_pitch(bytes),
            Call::Offset(elements) => layout.offset(elements),
            Call::ByteOffset(bytes) => layout.byte_offset(bytes),
            Call::Len(elements) => layout.len(elements),
            Call::ByteLen(bytes) => layout.byte_len(bytes),
            Call::Type(dtype) => layout.dtype(dtype),
            Call::Padded => layout.padded(),
            Call::ReadOnly => layout.read_only(),
            Call::Refused => layout.refused(Error::Custom("refused")),
        })
    }
}

impl DLPackExport for Called {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        let layout = out.layout(self.layout());
        match &self.data {
            Data::Bytes(data) => layout.data(data.data()),
            Data::Shared(data) => layout.data(data.data()),
            Data::Lanes(data) => layout.data(data.data()),
            Data::Pixels(data) => layout.data(data.data()),
        }
    }

    fn storage(&self) -> Option<&dyn Storage> {
        match &self.data {
            Data::Shared(data) => Some(data),
            _ => None,
        }
    }
}

/// Reads every byte that the tensor names. They are 1, because they lie in its memory.
fn read(tensor: &ImportedTensor) {
    let few = tensor.numel() < 300;
    if let Some(bits) = tensor.raw_bits().ok().filter(|_| few) {
        for bits in bits.iter() {
            assert!(matches!(bits, 1 | 0x0101 | 0x0101_0101), "{bits:x}");
        }
    }
    if let Some(copy) = tensor.to_own_copy().ok().filter(|_| few) {
        copy.frozen().unwrap_err();
    }
}

#[test]
fn builders_can_be_called_in_any_order() {
    let rounds = if cfg!(miri) { 60 } else { 4_000 };
    let (mut random, mut slot, mut described) = (Random::new(7), Slot::new(), 0);
    for _ in 0..rounds {
        let tensor = Called::new(&mut random);
        let Ok(description) = tensor.describe(slot.describe()) else {
            assert!(tensor.tensor().is_err() && tensor.to_dlpack().is_err());
            continue;
        };
        described += 1;
        let lists = (description.shape().to_vec(), description.strides().to_vec());
        // A view has its own lists, which move with it.
        let view = Box::new(tensor.tensor().unwrap());
        assert_eq!((view.shape().to_vec(), view.strides().to_vec()), lists);
        assert!(view.numel() >= 0, "the number of elements of {lists:?}");
        let exports = [tensor.to_dlpack().ok(), Some(tensor.into_dlpack().unwrap())];
        for export in exports.into_iter().flatten() {
            assert_eq!((export.shape().to_vec(), export.strides().to_vec()), lists);
            // The import counts bytes too, of which a broadcast tensor can have too many.
            match export.import() {
                Ok(tensor) => read(&tensor),
                Err(error) => assert_eq!(error, Error::SizeOverflow, "{lists:?}"),
            }
        }
    }
    assert!(described * 20 > rounds, "{described} of {rounds}");
}

/// A list that differs at each call, or panics.
struct Moody(AtomicUsize, [Vec<i64>; 3]);

impl AsDims for Moody {
    type Dim = i64;

    fn as_dims(&self) -> &[i64] {
        let call = self.0.fetch_add(1, Ordering::Relaxed);
        assert_ne!(call % 7, 6, "no list");
        &self.1[call % 3]
    }
}

struct MoodyTensor(Moody, Moody, Vec<u8>);

impl DLPackExport for MoodyTensor {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&self.0).strides(&self.1).rank(1).strides(&self.1).data(self.2.data())
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        let layout = out.shape(&self.0).rank(2).strides(&self.1).strides(&self.1);
        layout.data_mut(self.2.data_mut())
    }
}

#[test]
fn lists_may_change_and_panic() {
    let mut slot = Slot::new();
    for (first, second) in (0..7).flat_map(|first| (0..6).map(move |second| (first, second))) {
        let make = || {
            let shape = Moody(AtomicUsize::new(first), [vec![2; 9], vec![3, 2], vec![4]]);
            let strides = Moody(AtomicUsize::new(second), [vec![1; 12], vec![2, 1], vec![1]]);
            MoodyTensor(shape, strides, vec![1; BYTES])
        };
        // A slot that was left in the middle of a description is used again.
        let tensor = make();
        let describe = || tensor.describe(slot.describe()).map(|found| found.shape().len());
        let _ = catch_unwind(AssertUnwindSafe(describe));
        let owned = || tensor.into_dlpack().map(|export| read(&export.import().unwrap()));
        let _ = catch_unwind(AssertUnwindSafe(owned));
        let shared = ExportArc::new(make()).unwrap();
        for _ in 0..2 {
            let lent = || shared.to_dlpack().map(|export| read(&export.import().unwrap()));
            let _ = catch_unwind(AssertUnwindSafe(lent));
        }
        // No panic and no error keeps the value.
        assert!(shared.try_into_inner().is_ok());
    }
}

#[test]
fn a_panic_of_a_map_leaves_the_rest_unchanged() {
    fn check<T: AnyBits + PartialEq>(old: T, new: T, len: usize) {
        for last in 0..=len {
            let buffer = SharedBuffer::from(vec![old; len]);
            let shape = [i64::try_from(len).unwrap()];
            let tensor = Owner::new(buffer.clone(), &shape).into_dlpack().unwrap();
            let (mut tensor, mut calls) = (tensor.import().unwrap(), 0);
            let map = |_| {
                calls += 1;
                assert!(calls <= last);
                new
            };
            let mapped = || tensor.elements_mut::<T>().unwrap().map_in_place(map);
            assert_eq!(catch_unwind(AssertUnwindSafe(mapped)).is_err(), last < len);
            let found = buffer.to_vec();
            let (done, rest) = found.split_at(found.iter().take_while(|&&it| it == new).count());
            assert!(done.len() <= last && rest.iter().all(|&it| it == old));
            assert!(last - done.len() < 16, "at most a register is lost");
        }
    }
    check(1_u8, 2, 83);
    check(1_u16, 2, 37);
    // These do not fill a register.
    check(Lanes([1_u8; 3]), Lanes([2; 3]), 23);
    check(Lanes([1.0_f32; 3]), Lanes([2.0; 3]), 9);
    check(Lanes([1_u8; 17]), Lanes([2; 17]), 7);
}

#[test]
fn every_access_at_the_same_time() {
    let buffer = SharedBuffer::from_slice(&[1_u8; 77]).unwrap();
    let whole = Owner::new(buffer.clone(), &[7, 11]);
    let import = || whole.to_dlpack().unwrap().import().unwrap();
    let change = |change: fn(&mut tensors::ElementsMut<'_, u8>)| {
        change(&mut import().elements_mut().unwrap());
    };
    thread::scope(|scope| {
        scope.spawn(|| change(|elements| elements.map_in_place(|byte| 3 - byte)));
        scope.spawn(|| change(|elements| elements.update_rows(|row| row.fill(2)).unwrap()));
        scope.spawn(|| change(|elements| elements.fill(1)));
        scope.spawn(|| change(|elements| elements.copy_from_slice(&[2; 77]).unwrap()));
        scope.spawn(|| buffer.fill(2));
        scope.spawn(|| buffer.update_blocks(<[u8]>::reverse));
        scope.spawn(|| drop(whole.copy_to_dlpack().unwrap()));
        scope.spawn(|| drop(import().to_own_copy().unwrap()));
        scope.spawn(|| import().raw_bits().unwrap().iter().sum::<u64>());
        scope.spawn(|| import().elements::<u8>().unwrap().for_each_row(|_| ()).unwrap());
        scope.spawn(|| import().elements::<u8>().unwrap().try_iter().count());
        let storage = ImportedStorage::<u8>::new(import()).unwrap();
        let mut clone = storage.clone();
        scope.spawn(move || drop(storage.copy_to_dlpack().unwrap()));
        scope.spawn(move || clone.elements_mut().unwrap().map_in_place(|byte| 3 - byte));
    });
    assert!(buffer.to_vec().into_iter().all(|byte| byte == 1 || byte == 2));
}
