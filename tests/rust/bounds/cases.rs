//! Random layouts: [`Case`].

use core::cell::UnsafeCell;

use dlpack_tests::random::Random;
use tensors::ffi::{self, DLDataTypeCode};
use tensors::{
    DLPackExport, DataRef, DataType, Describe, Description, Device, Dim, Dims, Error, Layout,
};

/// Bytes of real memory that cases are laid over.
const BYTES: usize = 512;

/// Where the storage of a case is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// Real memory, that many bytes from an address that 16 divides.
    Real(usize),
    /// An object on a device without addresses, of any length.
    Handle,
}

impl Place {
    pub(crate) fn device(self) -> Device {
        match self {
            Place::Real(_) => Device::CPU,
            Place::Handle => Device::new(ffi::kDLOpenCL, 1),
        }
    }
}

/// A list of integers of any type.
pub(crate) trait List {
    fn shape(&self) -> Layout<'_>;
    fn strides<'a>(&'a self, layout: Layout<'a>) -> Layout<'a>;
    fn dims(&self) -> Result<Dims<'_>, Error>;
}

impl<I: Dim> List for Vec<I> {
    fn shape(&self) -> Layout<'_> {
        Layout::new(self)
    }

    fn strides<'a>(&'a self, layout: Layout<'a>) -> Layout<'a> {
        layout.strides(self)
    }

    fn dims(&self) -> Result<Dims<'_>, Error> {
        Dims::of(self)
    }
}

/// A case as an exportable describes it.
pub(crate) struct Claim<'a> {
    pub(crate) case: &'a Case,
    pub(crate) shape: &'a dyn List,
    pub(crate) strides: Option<&'a dyn List>,
    pub(crate) memory: &'a Memory,
}

impl DLPackExport for Claim<'_> {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        let layout = self.shape.shape();
        let layout = match self.strides {
            Some(strides) => strides.strides(layout),
            None => layout,
        };
        let layout = match self.case.stated_offset() {
            Some(bytes) => layout.byte_offset(bytes),
            None => layout,
        };
        let layout = match self.case.dtype {
            Some(dtype) => layout.dtype(dtype),
            None => layout,
        };
        out.layout(layout).data(self.memory.data(self.case))
    }
}

/// A list of integers, and the integer type with which they are passed to the library.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    values: Vec<i128>,
    kind: usize,
}

impl Numbers {
    fn new(values: Vec<i128>, random: &mut Random) -> Self {
        Self { values, kind: random.below(12) }
    }

    pub(crate) fn values(&self) -> &[i128] {
        &self.values
    }

    /// The numbers in a type that can hold all of them, the chosen one if possible.
    pub(crate) fn list(&self) -> Box<dyn List> {
        fn try_as<I: Dim + TryFrom<i128> + 'static>(values: &[i128]) -> Option<Box<dyn List>> {
            let values = values.iter().map(|&value| I::try_from(value).ok());
            Some(Box::new(values.collect::<Option<Vec<I>>>()?))
        }
        let values = &self.values;
        let chosen = match self.kind {
            0 => try_as::<i8>(values),
            1 => try_as::<i16>(values),
            2 => try_as::<i32>(values),
            3 => try_as::<u8>(values),
            4 => try_as::<u16>(values),
            5 => try_as::<u32>(values),
            6 => try_as::<u64>(values),
            7 => try_as::<u128>(values),
            8 => try_as::<i128>(values),
            9 => try_as::<isize>(values),
            10 => try_as::<usize>(values),
            _ => try_as::<i64>(values),
        };
        chosen.unwrap_or_else(|| Box::new(values.clone()))
    }
}

/// A storage, and a claim about the tensor in it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) place: Place,
    /// Bytes of the storage.
    pub(crate) len: usize,
    /// Type of the storage.
    pub(crate) storage: DataType,
    /// The requested dtype.
    pub(crate) dtype: Option<DataType>,
    pub(crate) shape: Numbers,
    pub(crate) strides: Option<Numbers>,
    pub(crate) byte_offset: u64,
    /// Whether an offset of 0 is stated.
    pub(crate) states_offset: bool,
}

impl Case {
    /// The type of the elements.
    pub(crate) fn element_type(&self) -> DataType {
        self.dtype.unwrap_or(self.storage)
    }

    pub(crate) fn has_address(&self) -> bool {
        self.place != Place::Handle
    }

    /// The offset, if the claim states one.
    fn stated_offset(&self) -> Option<u64> {
        Some(self.byte_offset).filter(|&bytes| bytes != 0 || self.states_offset)
    }

    /// Whether the tensor must use all of its storage: nothing but the shape states a part.
    pub(crate) fn fills_storage(&self) -> bool {
        self.strides.is_none() && self.stated_offset().is_none()
    }

    /// Gives the storage the length of the elements, if it is a small one.
    fn fit_storage(&mut self) {
        let bits = i128::from(self.element_type().element_bits());
        let dims = self.shape.values().iter();
        let bits = dims.fold(bits, |bits, &dim| bits.saturating_mul(dim.max(0)));
        self.len = match usize::try_from((bits + 7) / 8) {
            Ok(len) if len <= BYTES - 32 => len,
            _ => self.len,
        };
    }

    /// The claim as a layout.
    pub(crate) fn layout<'a>(
        &self,
        shape: &'a Dims<'_>,
        strides: Option<&'a Dims<'_>>,
    ) -> Layout<'a> {
        let layout = Layout::new(shape).strides(strides);
        let layout = match self.stated_offset() {
            Some(bytes) => layout.byte_offset(bytes),
            None => layout,
        };
        match self.dtype {
            Some(dtype) => layout.dtype(dtype),
            None => layout,
        }
    }

    /// A layout of few elements, about as likely to fit as not.
    pub(crate) fn small(random: &mut Random) -> Self {
        let mut case = Self::storage(random);
        let ndim = random.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 4, 9]);
        let limit = if ndim > 4 { 2 } else { 4 };
        let dim = |random: &mut Random| {
            let least = i64::from(!random.one_in(9));
            random.within(least..=limit).into()
        };
        let mut shape: Vec<i128> = (0..ndim).map(|_| dim(random)).collect();
        let mut strides: Vec<i128> = if random.one_in(2) {
            (0..ndim).map(|_| random.within(-4..=4).into()).collect()
        } else {
            let mut step = 1;
            let strides: Vec<i128> =
                shape.iter().rev().map(|dim| (step, step *= dim.max(&1)).0).collect();
            strides.into_iter().rev().collect()
        };
        if random.one_in(40) && ndim > 0 {
            shape[random.below(ndim)] = random.within(-2..=-1).into();
        }
        if random.one_in(40) {
            strides.push(1);
        }
        case.shape = Numbers::new(shape, random);
        case.strides = random.one_in(2).then(|| Numbers::new(strides, random));
        if case.strides.is_some() || random.one_in(3) {
            let unit = u64::from(case.storage.element_bits().div_ceil(8));
            let units = random.below(case.len / usize::try_from(unit).unwrap() + 2);
            case.byte_offset = units as u64 * if random.one_in(8) { 1 } else { unit };
        }
        case.states_offset = random.one_in(3);
        if case.fills_storage() && !random.one_in(4) {
            case.fit_storage();
        }
        case
    }

    /// A layout with numbers from the whole of 64 bits and a little beyond.
    pub(crate) fn extreme(random: &mut Random) -> Self {
        let mut case = Self::storage(random);
        if random.one_in(2) {
            // An opaque handle is never followed, so it may be an object of any size.
            case.place = Place::Handle;
            case.len = usize::try_from(magnitude(random).min(isize::MAX as i128)).unwrap();
        }
        let ndim = random.pick(&[1, 1, 2, 2, 3, 8, 9, 20, 64, 65]);
        // One axis is rarely all there is to a wrong answer, and many large
        // ones are always refused: most have size 1.
        let large = if random.one_in(8) { 1 } else { ndim };
        let dim = |random: &mut Random| match random.below(large + 2) {
            0 => magnitude(random),
            1 => random.within(0..=4).into(),
            _ => 1,
        };
        let shape: Vec<i128> = (0..ndim).map(|_| dim(random)).collect();
        let stride = |random: &mut Random, dim: i128| {
            let sign = if random.one_in(3) { -1 } else { 1 };
            match random.below(8) {
                0 => sign * magnitude(random),
                1 | 2 if dim == 1 => sign * magnitude(random),
                3 => i64::MIN.into(),
                4 | 5 => sign * i128::from(random.within(0..=3)),
                _ => 0,
            }
        };
        let strides: Vec<i128> = shape.iter().map(|&dim| stride(random, dim)).collect();
        case.shape = Numbers::new(shape, random);
        case.strides = (!random.one_in(4)).then(|| Numbers::new(strides, random));
        if random.one_in(3) {
            case.byte_offset = if random.one_in(2) {
                u64::try_from(magnitude(random)).unwrap_or(u64::MAX)
            } else {
                random.below(case.len.saturating_add(2)) as u64
            };
            case.byte_offset &= !7;
        }
        case.states_offset = !random.one_in(4);
        case
    }

    /// A storage without a tensor in it.
    fn storage(random: &mut Random) -> Self {
        let storage = if random.one_in(2) { DataType::U8 } else { well_formed(random) };
        let dtype = match random.below(6) {
            0 | 1 => None,
            2 if storage != DataType::U8 => None,
            3 if random.one_in(4) => Some(any_type(random)),
            _ if storage == DataType::U8 => Some(well_formed(random)),
            _ => Some(storage),
        };
        let handle = random.one_in(6);
        // Real storage of a type is aligned for it; bytes are anywhere.
        let start = if storage == DataType::U8 && random.one_in(3) { random.below(17) } else { 0 };
        let unit = usize::try_from(storage.element_bits().div_ceil(8)).unwrap();
        let most = BYTES - 16;
        let longest = random.pick(&[9, 65, most + 1]);
        let len = random.below(longest) / unit * unit;
        let place = if handle { Place::Handle } else { Place::Real(start) };
        let shape = Numbers { values: Vec::new(), kind: 0 };
        let (byte_offset, states_offset) = (0, false);
        Self { place, len, storage, dtype, shape, strides: None, byte_offset, states_offset }
    }
}

/// A type that the standard defines, sometimes with lanes.
fn well_formed(random: &mut Random) -> DataType {
    let narrow = [
        DataType::new(ffi::kDLInt, 4, 1),
        DataType::new(ffi::kDLUInt, 1, 1),
        DataType::new(ffi::kDLUInt, 2, 1),
        DataType::new(ffi::kDLInt, 128, 1),
        DataType::new(ffi::kDLBool, 1, 1),
        DataType::FLOAT4_E2M1FN,
        DataType::FLOAT6_E2M3FN,
        DataType::FLOAT6_E3M2FN,
    ];
    let dtype = if random.one_in(3) { random.pick(&narrow) } else { random.pick(DataType::ALL) };
    if random.one_in(5) { dtype.with_lanes(random.pick(&[2, 3, 4])) } else { dtype }
}

/// Any three numbers.
fn any_type(random: &mut Random) -> DataType {
    let byte = |random: &mut Random, limit| u8::try_from(random.below(limit)).unwrap_or(0);
    let (code, bits) = (byte(random, 22), byte(random, 256));
    let bits = if random.one_in(2) { bits & 0xf8 } else { bits };
    DataType::new(DLDataTypeCode(code), bits, random.pick(&[0, 1, 1, 2, 8, u16::MAX]))
}

/// A positive number of any length, often next to a power of two.
fn magnitude(random: &mut Random) -> i128 {
    let power = 1_i128 << random.below(66);
    match random.below(3) {
        0 => power + i128::from(random.within(-2..=2)),
        1 => i128::from(random.bits() >> random.below(64)),
        _ => power,
    }
    .max(0)
}

/// The memory under all cases.
pub(crate) struct Memory(Box<Aligned>);

#[repr(align(16))]
struct Aligned(UnsafeCell<[u8; BYTES]>);

impl Memory {
    pub(crate) fn new() -> Self {
        Self(Box::new(Aligned(UnsafeCell::new([0; BYTES]))))
    }

    fn start(&self, case: &Case) -> *mut u8 {
        match case.place {
            Place::Real(start) => self.0.0.get().cast::<u8>().wrapping_add(start),
            Place::Handle => self.0.0.get().cast(),
        }
    }

    /// Address of the first byte of a case's storage.
    pub(crate) fn address(&self, case: &Case) -> usize {
        self.start(case).addr()
    }

    /// The storage of a case.
    pub(crate) fn data(&self, case: &Case) -> DataRef<'_> {
        let start = self.start(case);
        assert!(
            case.place == Place::Handle
                || start.addr() + case.len <= self.start(case).addr() + BYTES
        );
        // SAFETY: 1. We own the bytes of real memory, and they are enough; a handle is
        // never followed, and its length at most `isize::MAX`. 2. They are zero, which is a
        // value of every type; storage of a type starts at a multiple of 16.
        // 3. No one writes to them.
        unsafe { DataRef::from_raw_parts(start, case.len, case.storage, case.place.device()) }
    }
}
