//! What an importer must make of a struct: said in exact arithmetic.

use dlpack_traits::ffi;
use dlpack_traits::{DataType, Device, Version};

use crate::wild::{Kind, Wild};

/// The metadata of a struct that must be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub shape: Vec<i64>,
    pub strides: Vec<i64>,
    pub numel: i64,
    /// The lowest byte of an element, and one past the highest, from the first.
    pub bytes: (i64, i64),
    /// Whether all of that is inside the memory that there is.
    pub honest: bool,
}

/// Lowest and highest element from the first, and how many: of a layout with
/// elements whose numbers fit in 64 bits.
pub fn extent(shape: &[i64], strides: &[i64]) -> Option<(i64, i64)> {
    let (mut low, mut high) = (0_i128, 0_i128);
    for (&dim, &stride) in shape.iter().zip(strides) {
        let last = (i128::from(dim) - 1) * i128::from(stride);
        let end = if last < 0 { &mut low } else { &mut high };
        *end = end.checked_add(last)?;
    }
    Some((i64::try_from(low).ok()?, i64::try_from(high).ok()?))
}

/// How many elements, if that fits.
pub fn numel(shape: &[i64]) -> Option<i64> {
    if shape.len() > 64 || shape.iter().any(|&dim| dim < 0) {
        return None;
    }
    if shape.contains(&0) {
        return Some(0);
    }
    let product = shape.iter().try_fold(1_i128, |product, &dim| {
        let product = product * i128::from(dim);
        i64::try_from(product).is_ok().then_some(product)
    })?;
    i64::try_from(product).ok()
}

/// The strides of a compact tensor, each as large as fits.
pub fn row_major(shape: &[i64]) -> Vec<i64> {
    let step = |axis: usize| {
        shape[axis + 1..].iter().fold(1_i64, |step, &dim| step.saturating_mul(dim.max(1)))
    };
    (0..shape.len()).map(step).collect()
}

/// Whether the standard defines the type.
pub fn is_known(dtype: DataType) -> bool {
    let widths: &[u8] = match dtype.code() {
        ffi::kDLInt | ffi::kDLUInt => &[1, 2, 4, 8, 16, 32, 64, 128],
        ffi::kDLFloat => &[16, 32, 64, 128],
        ffi::kDLOpaqueHandle => &[8, 16, 32, 64, 128],
        ffi::kDLBfloat => &[16],
        ffi::kDLComplex => &[32, 64, 128],
        ffi::kDLBool => &[1, 8],
        ffi::kDLFloat6_e2m3fn | ffi::kDLFloat6_e3m2fn => &[6],
        ffi::kDLFloat4_e2m1fn => &[4],
        ffi::kDLBcomplex => &[32],
        code if (ffi::kDLFloat8_e3m4.0..=ffi::kDLFloat8_e8m0fnu.0).contains(&code.0) => &[8],
        _ => &[],
    };
    dtype.lanes() > 0 && widths.contains(&dtype.bits())
}

/// Bits that an element takes: padded ones take whole bytes.
fn stored_bits(dtype: DataType, padded: bool) -> i128 {
    let bits = i128::from(dtype.bits()) * i128::from(dtype.lanes());
    if padded { (bits + 7) / 8 * 8 } else { bits }
}

/// Returns `None` if the struct must be rejected.
pub fn judge<M: Kind>(wild: &Wild, data: *mut u8) -> Option<Taken> {
    let version = M::VERSIONED.then(|| Version::from(wild.version));
    if version.is_some_and(|version| version.major != 1) {
        return None;
    }
    let ndim = usize::try_from(wild.ndim()).ok().filter(|&ndim| ndim <= 64)?;
    let shape = if ndim == 0 { Vec::new() } else { wild.shape()? };
    let dtype = wild.dtype();
    let later = version.is_some_and(|version| version.minor > 3)
        && dtype.code().0 > ffi::kDLBcomplex.0
        && dtype.bits() > 0
        && dtype.lanes() > 0;
    if !is_known(dtype) && !later {
        return None;
    }
    let numel = numel(&shape)?;
    let strides = if ndim == 0 { Some(Vec::new()) } else { wild.strides() };
    let strides = strides.unwrap_or_else(|| row_major(&shape));
    let padded = M::VERSIONED && wild.flags() & 4 != 0;
    let bytes = if numel == 0 {
        (0, 0)
    } else {
        let (low, high) = extent(&shape, &strides)?;
        let bits = stored_bits(dtype, padded);
        let byte = |bits: i128| i64::try_from(bits.div_euclid(8)).ok();
        byte(i128::from(numel) * bits + 7)?;
        let start = byte(i128::from(low) * bits)?;
        let end = byte((i128::from(high) + 1) * bits + 7)?;
        end.checked_sub(start)?;
        (start, end)
    };
    let device = wild.device();
    let offset = i128::from(wild.byte_offset());
    if device.device_type().0 < 1 {
        return None;
    }
    let (low, high) = (offset + i128::from(bytes.0), offset + i128::from(bytes.1));
    let largest = isize::MAX as i128;
    if numel == 0 {
        // Nothing is at the offset, so it says nothing, on any device.
    } else if has_addresses(device) {
        let address = data.addr() as i128;
        let fits = offset <= largest
            && high <= largest
            && address + low > 0
            && address + high <= usize::MAX as i128;
        if data.is_null() || !fits {
            return None;
        }
    } else if low < 0 || offset > largest || high > largest {
        return None;
    }
    let len = wild.data.as_ref().map_or(0, Vec::len) as i128;
    let inside = offset + i128::from(bytes.0) >= 0 && offset + i128::from(bytes.1) <= len;
    let honest = device.is_host() && (numel == 0 || inside);
    Some(Taken { shape, strides, numel, bytes, honest })
}

fn has_addresses(device: Device) -> bool {
    matches!(
        device.device_type(),
        ffi::kDLCPU
            | ffi::kDLCUDA
            | ffi::kDLCUDAHost
            | ffi::kDLROCM
            | ffi::kDLROCMHost
            | ffi::kDLCUDAManaged
            | ffi::kDLOneAPI
    )
}
