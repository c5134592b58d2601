//! An addon for Node.js. Rust tensors become typed arrays over the same memory
//! (`typed_array.rs`), and typed arrays become managed tensors (`js_memory.rs`).

mod fault;
mod js_memory;
mod loans;
mod samples;
mod typed_array;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dlpack_traits::ffi::DLManagedTensorVersioned;
use dlpack_traits::{DLPackExport, DataType, ImportedTensor, OwnedTensor};
use napi::bindgen_prelude::{AsyncTask, BigInt, Env, Error, Object, Result, Status, Task, Unknown};
use napi_derive::napi;

use fault::{Checked, Fault};
use loans::{Loans, Slot, lock};
use typed_array::moved;

/// Runs once for each environment: the main thread's, and each worker's.
#[napi(module_exports)]
pub fn begin(_exports: Object<'_>, env: Env) -> Result<()> {
    Loans::begin(&env)
}

/// Runs `$body` with `$type` the Rust type of the elements of `$tensor`.
macro_rules! with_type {
    ($tensor:expr, $type:ident => $body:expr) => {
        match $tensor.dtype() {
            DataType::I8 => with_type!(i8, $type, $body),
            DataType::U8 => with_type!(u8, $type, $body),
            DataType::I16 => with_type!(i16, $type, $body),
            DataType::U16 => with_type!(u16, $type, $body),
            DataType::I32 => with_type!(i32, $type, $body),
            DataType::U32 => with_type!(u32, $type, $body),
            DataType::F32 => with_type!(f32, $type, $body),
            DataType::F64 => with_type!(f64, $type, $body),
            DataType::I64 => with_type!(i64, $type, $body),
            DataType::U64 => with_type!(u64, $type, $body),
            other => Err(Fault::Type(format!("elements of type {other} are not supported"))),
        }
    };
    ($element:ty, $type:ident, $body:expr) => {{
        type $type = $element;
        $body
    }};
}

/// The sum of the elements, each converted to `f64`.
#[allow(
    clippy::cast_lossless,
    clippy::cast_precision_loss,
    clippy::unnecessary_cast,
    reason = "one cast for all types"
)]
fn sum(tensor: &ImportedTensor) -> Checked<f64> {
    with_type!(tensor, T => {
        let mut sum = 0.0;
        tensor.elements::<T>()?.try_for_each_block(|block| {
            sum += block.iter().map(|&element| element as f64).sum::<f64>();
        })?;
        Ok(sum)
    })
}

/// A tensor with its owner. Its memory comes from Rust, or from a typed array.
#[napi]
pub struct Tensor {
    slot: Arc<Slot>,
}

impl Tensor {
    fn new(tensor: ImportedTensor) -> Self {
        let slot = Arc::new(Mutex::new(Some(tensor)));
        Loans::current().register(&slot);
        Self { slot }
    }

    fn with<R>(&self, env: Env, run: impl FnOnce(&ImportedTensor) -> Checked<R>) -> Result<R> {
        let slot = lock(&self.slot);
        slot.as_ref().ok_or_else(moved).and_then(run).map_err(|fault| fault.throw(env))
    }

    /// Takes the tensor out, for another thread.
    fn take(&self, env: Env) -> Result<ImportedTensor> {
        lock(&self.slot).take().ok_or_else(|| moved().throw(env))
    }
}

#[napi]
impl Tensor {
    /// Moves the memory of a typed array, which becomes empty, into a tensor.
    #[napi(factory)]
    pub fn from_typed_array(env: Env, array: Unknown<'_>, dims: Option<Vec<i64>>) -> Result<Self> {
        js_memory::from_typed_array(&env, array, dims)
            .map(Self::new)
            .map_err(|fault| fault.throw(env))
    }

    /// The size of each dimension.
    #[napi(getter)]
    pub fn dims(&self, env: Env) -> Result<Vec<i64>> {
        self.with(env, |tensor| Ok(tensor.shape().to_vec()))
    }

    /// The name of the dtype.
    #[napi(getter)]
    pub fn dtype(&self, env: Env) -> Result<String> {
        self.with(env, |tensor| Ok(tensor.dtype().to_string()))
    }

    /// The address of the first element.
    #[napi(getter)]
    pub fn address(&self, env: Env) -> Result<BigInt> {
        self.with(env, |tensor| Ok(BigInt::from(tensor.data_ptr().addr() as u64)))
    }

    /// Moves the memory of a tensor with one dimension into a typed array.
    #[napi]
    pub fn to_typed_array<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        self.with(*env, |tensor| match tensor.ndim() {
            1 => Ok(()),
            ndim => Err(Fault::Range(format!(
                "expected 1 dimension, got {ndim}; use `flatten()` for the elements in row-major \
                 order"
            ))),
        })?;
        self.flatten(env)
    }

    /// Moves the memory of a tensor with any number of dimensions into a typed array, in
    /// row-major order.
    #[napi]
    pub fn flatten<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        typed_array::to_typed_array(env, &mut lock(&self.slot)).map_err(|fault| fault.throw(*env))
    }

    /// Returns a writable copy in row-major order.
    #[napi]
    pub fn copy(&self, env: Env) -> Result<Self> {
        let copy = self.with(env, |tensor| {
            with_type!(tensor, T => {
                let elements = tensor.elements::<T>()?.to_vec()?;
                Ok(OwnedTensor::new(elements, tensor.shape())?.into_dlpack()?.import()?)
            })
        })?;
        Ok(Self::new(copy))
    }

    /// The sum of the elements.
    #[napi]
    pub fn sum(&self, env: Env) -> Result<f64> {
        self.with(env, sum)
    }

    /// Moves the tensor to a thread of libuv's pool, which sums the elements and calls the
    /// deleter there.
    #[napi]
    pub fn sum_in_pool(&self, env: Env) -> Result<AsyncTask<Sum>> {
        Ok(AsyncTask::new(Sum(Some(self.take(env)?))))
    }

    /// Moves the tensor, as a C struct, to a thread of Rust that sums the elements again and
    /// again for some milliseconds, and calls the deleter there. `watched()` counts threads
    /// for which all sums were equal.
    #[napi]
    pub fn watch(&self, env: Env, milliseconds: u32) -> Result<()> {
        let Ok(managed) = self.take(env)?.into_raw::<DLManagedTensorVersioned>() else {
            return Err(Fault::Type("expected a versioned tensor".to_owned()).throw(env));
        };
        let managed = Managed(managed);
        std::thread::spawn(move || {
            let Managed(managed) = { managed };
            // SAFETY: 1 to 5: `into_raw` returned the struct of a valid tensor, and this
            // thread is its only owner.
            let Ok(tensor) = (unsafe { ImportedTensor::from_raw(managed) }) else { return };
            let Ok(first) = sum(&tensor) else { return };
            let end = Instant::now() + Duration::from_millis(milliseconds.into());
            let mut is_same = true;
            while Instant::now() < end {
                is_same &= sum(&tensor).is_ok_and(|sum| sum.to_bits() == first.to_bits());
            }
            drop(tensor);
            WATCHED.fetch_add(u32::from(is_same), Ordering::SeqCst);
        });
        Ok(())
    }

    /// Calls the deleter now.
    #[napi]
    pub fn release(&self) {
        drop(lock(&self.slot).take());
    }
}

static WATCHED: AtomicU32 = AtomicU32::new(0);

/// A struct that moves to another thread.
struct Managed(*mut DLManagedTensorVersioned);

// SAFETY: the tensor was an `ImportedTensor`, which is `Send`.
unsafe impl Send for Managed {}

/// How many threads of `watch` read equal sums.
#[napi]
pub fn watched() -> u32 {
    WATCHED.load(Ordering::SeqCst)
}

/// The work of `sum_in_pool`.
pub struct Sum(Option<ImportedTensor>);

impl Task for Sum {
    type Output = f64;
    type JsValue = f64;

    fn compute(&mut self) -> Result<f64> {
        // Drops the tensor on this thread.
        let tensor = self.0.take();
        let total = tensor.as_ref().map(sum).transpose();
        total.ok().flatten().ok_or_else(|| Error::new(Status::InvalidArg, "no sum of this dtype"))
    }

    fn resolve(&mut self, _env: Env, output: f64) -> Result<f64> {
        Ok(output)
    }
}

/// A signal that Rust and JavaScript both read and write.
#[napi]
pub struct Signal(samples::Shared);

#[napi]
impl Signal {
    /// A signal of zeros.
    #[napi(constructor)]
    pub fn new(env: Env, length: u32) -> Result<Self> {
        let shared = samples::Shared::new(length as usize);
        shared.map(Self).map_err(|error| Fault::from(error).throw(env))
    }

    /// The samples as a tensor, zero-copy.
    #[napi]
    pub fn tensor(&self, env: Env) -> Result<Tensor> {
        let tensor = self.0.to_dlpack().and_then(dlpack_traits::ManagedTensor::import);
        tensor.map(Tensor::new).map_err(|error| Fault::from(error).throw(env))
    }

    /// Writes all samples, from Rust.
    #[napi]
    pub fn fill(&self, value: f64) {
        #[allow(clippy::cast_possible_truncation, reason = "JavaScript has no `f32`")]
        self.0.data.fill(value as f32);
    }

    /// Reads all samples, from Rust.
    #[napi]
    pub fn sum(&self) -> f64 {
        self.0.data.to_vec().into_iter().map(f64::from).sum()
    }
}

fn imported(
    env: Env,
    tensor: core::result::Result<ImportedTensor, dlpack_traits::Error>,
) -> Result<Tensor> {
    tensor.map(Tensor::new).map_err(|error| Fault::from(error).throw(env))
}

/// A frame of a camera, whose pixels count up from 0.
#[napi]
pub fn frame(env: Env, rows: u32, columns: u32) -> Result<Tensor> {
    let frame = samples::Frame::new(rows as usize, columns as usize);
    imported(env, frame.into_dlpack().and_then(dlpack_traits::ManagedTensor::import))
}

/// Two by three zeros of the dtype, in column-major order if `transposed`.
#[napi]
pub fn zeros(env: Env, dtype: String, transposed: Option<bool>) -> Result<Tensor> {
    imported(env, samples::described(&dtype, transposed.unwrap_or_default()))
}

/// Read-only elements.
#[napi]
pub fn frozen(env: Env) -> Result<Tensor> {
    imported(env, samples::frozen())
}

/// The number of owners that exist, and of those that deleters dropped.
#[napi]
pub fn counts() -> Vec<u32> {
    let (live, deleted) = samples::Counted::counts();
    [live, deleted].map(|count| u32::try_from(count).unwrap_or(u32::MAX)).to_vec()
}

/// The address of the first element of a typed array.
#[napi]
pub fn address_of(env: Env, array: Unknown<'_>) -> Result<BigInt> {
    let address = js_memory::address(&env, &array).map_err(|fault| fault.throw(env))?;
    Ok(BigInt::from(address as u64))
}

/// Elements at an address that is not a multiple of their size.
#[napi]
pub fn unaligned(env: Env) -> Result<Tensor> {
    imported(env, samples::unaligned())
}
