//! Random layouts: [`Case`].

use alloc::vec::Vec;

use crate::describe::layout::{Layout, Order, Unit};
use crate::device::Device;
use crate::dtype::DataType;

/// Pseudo-random numbers (xorshift), the same in each run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    pub(super) fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(super) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    pub(super) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap()
    }

    /// A small number, rarely one at an edge of the arithmetic.
    pub(super) fn number(&mut self, below: u64) -> i64 {
        const EDGES: [i64; 8] =
            [-1, 0, i64::MAX, i64::MIN, i64::MAX / 8, 1 << 32, -(1 << 32), i64::MAX / 4 + 1];
        if self.once_in(60) { self.of(&EDGES) } else { i64::try_from(self.below(below)).unwrap() }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    Ordered(Order),
    Strided(Unit),
}

/// The attributes of a layout that a type may set.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) shape: Vec<i64>,
    pub(super) strides: Vec<i64>,
    pub(super) how: How,
    pub(super) pitch: Option<(i64, Unit)>,
    pub(super) rank: Option<i64>,
    pub(super) offset: Option<(i64, Unit)>,
    pub(super) len: Option<(i64, Unit)>,
    pub(super) dtype: Option<DataType>,
    pub(super) device: Option<Device>,
    pub(super) padded: bool,
    pub(super) spare_capacity: bool,
}

pub(super) const DTYPES: [DataType; 10] = [
    DataType::U8,
    DataType::F32,
    DataType::F64,
    DataType::COMPLEX128,
    DataType::BOOL,
    DataType::FLOAT4_E2M1FN,
    DataType::F32.with_lanes(3),
    DataType::I8.with_lanes(3),
    DataType::new(crate::ffi::kDLOpaqueHandle, 64, 1),
    DataType::new(crate::ffi::kDLUInt, 2, 1),
];

impl Case {
    pub(super) fn new(random: &mut Random) -> Self {
        const UNITS: [Unit; 2] = [Unit::Elements, Unit::Bytes];
        let few = random.below(6);
        let ndim = if random.once_in(20) { 7 + random.below(5) } else { few };
        let many = ndim > 6;
        let shape = (0..ndim).map(|_| random.number(if many { 3 } else { 6 })).collect();
        let strides = (0..ndim)
            .map(|_| random.number(14).wrapping_sub(i64::try_from(random.below(5)).unwrap()))
            .collect();
        let how = match random.below(8) {
            0..3 => How::Ordered(Order::RowMajor),
            3 => How::Ordered(Order::ColumnMajor),
            4..7 => How::Strided(Unit::Elements),
            _ => How::Strided(Unit::Bytes),
        };
        let mut amount = |one_in, below| {
            random.once_in(one_in).then(|| (random.number(below), random.of(&UNITS)))
        };
        let (pitch, offset, len) = (amount(6, 20), amount(2, 70), amount(5, 200));
        Self {
            shape,
            strides,
            how,
            pitch,
            rank: random.once_in(12).then(|| random.number(6)),
            offset,
            len,
            dtype: random.once_in(2).then(|| random.of(&DTYPES)),
            device: random.once_in(9).then(|| random.of(&[Device::CPU, Device::cuda(0)])),
            padded: random.once_in(12),
            spare_capacity: !random.once_in(3),
        }
    }

    /// The layout, with lists that it borrows.
    pub(super) fn layout(&self) -> Layout<'_> {
        self.with(Layout::new(&self.shape), |it, strides| match strides {
            Unit::Elements => it.strides(&self.strides),
            Unit::Bytes => it.byte_strides(&self.strides),
        })
    }

    /// The same with lists that were computed.
    pub(super) fn computed(&self) -> Layout<'static> {
        self.with(Layout::new(self.shape.clone()), |it, strides| match strides {
            Unit::Elements => it.strides(Some(self.strides.clone())),
            Unit::Bytes => it.byte_strides(self.strides.clone()),
        })
    }

    fn with<'a>(
        &self,
        mut it: Layout<'a>,
        strides: impl Fn(Layout<'a>, Unit) -> Layout<'a>,
    ) -> Layout<'a> {
        it = match self.how {
            How::Ordered(Order::RowMajor) => it,
            How::Ordered(order) => it.order(order),
            How::Strided(unit) => strides(it, unit),
        };
        if let Some(rank) = self.rank {
            it = it.rank(rank);
        }
        it = match self.pitch {
            None => it,
            Some((pitch, Unit::Elements)) => it.pitch(pitch),
            Some((pitch, Unit::Bytes)) => it.byte_pitch(pitch),
        };
        it = match self.offset {
            None => it,
            Some((offset, Unit::Elements)) => it.offset(offset),
            Some((offset, Unit::Bytes)) => it.byte_offset(offset),
        };
        it = match self.len {
            None => it,
            Some((len, Unit::Elements)) => it.len(len),
            Some((len, Unit::Bytes)) => it.byte_len(len),
        };
        if let Some(dtype) = self.dtype {
            it = it.dtype(dtype);
        }
        if let Some(device) = self.device {
            it = it.device(device);
        }
        if self.spare_capacity {
            it = it.spare_capacity();
        }
        if self.padded { it.padded() } else { it }
    }
}
