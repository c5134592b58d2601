//! Kernels. The simulator supports four by name and does not read their code.

use std::ffi::{CStr, c_void};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::memory::{Place, Span};
use crate::state;
use crate::status::Status;

/// A kernel that the simulator supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// `fill_u32(u64 to, u32 value, u32 count)`.
    Fill,
    /// `add_u32(u64 to, u32 value, u32 count)`: adds to each.
    Add,
    /// `spin_ns(u64 nanoseconds)`: takes its time.
    Spin,
    /// `axpy_f32(u64 out, u64 x, u64 y, f32 a, u32 count)`: `out = a * x + y`.
    Axpy,
}

/// A kernel with its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Launch {
    Fill { to: u64, value: u32, count: u32 },
    Add { to: u64, value: u32, count: u32 },
    Spin { nanoseconds: u64 },
    Axpy { places: [u64; 3], a: f32, count: u32 },
}

impl Kernel {
    /// Its name in a module.
    pub(crate) fn name(self) -> &'static CStr {
        match self {
            Kernel::Fill => c"fill_u32",
            Kernel::Add => c"add_u32",
            Kernel::Spin => c"spin_ns",
            Kernel::Axpy => c"axpy_f32",
        }
    }

    /// Returns the kernels of a PTX module. An unsupported kernel makes the module
    /// unusable here.
    pub(crate) fn of_image(image: &CStr) -> Result<Vec<Self>, Status> {
        let text = image.to_str().map_err(|_| Status::INVALID_IMAGE)?;
        let named = |name: &str| {
            let all = [Kernel::Fill, Kernel::Add, Kernel::Spin, Kernel::Axpy];
            all.into_iter().find(|kernel| kernel.name().to_bytes() == name.as_bytes())
        };
        let entries = text.split(".entry").skip(1);
        let kernels: Option<Vec<_>> =
            entries.map(|rest| named(rest.split('(').next().unwrap_or_default().trim())).collect();
        kernels.filter(|kernels| !kernels.is_empty()).ok_or(Status::INVALID_IMAGE)
    }

    /// Reads the arguments, as a launch does before it returns. Only the elements for which there is a
    /// thread are counted.
    ///
    /// # Safety
    ///
    /// 1. `parameters` points to as many pointers as the kernel has parameters,
    ///    each to a value of the parameter's type.
    pub(crate) unsafe fn launch(self, parameters: *const *const c_void, threads: u32) -> Launch {
        // SAFETY: (1).
        let wide = |index| unsafe { parameter::<u64>(parameters, index) };
        // SAFETY: (1).
        let word = |index| unsafe { parameter::<u32>(parameters, index) };
        match self {
            Kernel::Spin => Launch::Spin { nanoseconds: wide(0) },
            Kernel::Fill => {
                Launch::Fill { to: wide(0), value: word(1), count: word(2).min(threads) }
            }
            Kernel::Add => Launch::Add { to: wide(0), value: word(1), count: word(2).min(threads) },
            Kernel::Axpy => Launch::Axpy {
                places: [0, 1, 2].map(wide),
                a: f32::from_bits(word(3)),
                count: word(4).min(threads),
            },
        }
    }
}

/// Reads one argument.
///
/// # Safety
///
/// 1. `parameters` points to more than `index` pointers, of which that one points to a `T`.
unsafe fn parameter<T>(parameters: *const *const c_void, index: usize) -> T {
    // SAFETY: (1).
    let parameter = unsafe { parameters.add(index) };
    // SAFETY: (1).
    let parameter = unsafe { parameter.read() }.cast::<T>();
    // SAFETY: (1).
    unsafe { parameter.read() }
}

impl Launch {
    /// Runs the kernel on a device; it may access only the memory of that device.
    pub(crate) fn run(&self, ordinal: usize) -> Result<(), Status> {
        match *self {
            Launch::Spin { nanoseconds } => {
                thread::sleep(Duration::from_nanos(nanoseconds));
                Ok(())
            }
            Launch::Fill { to, value, count } => {
                let words = Words::at(to, count, ordinal)?;
                (0..words.len()).for_each(|at| words.store(at, value));
                Ok(())
            }
            Launch::Add { to, value, count } => {
                let words = Words::at(to, count, ordinal)?;
                (0..words.len()).for_each(|at| words.store(at, words.load(at).wrapping_add(value)));
                Ok(())
            }
            Launch::Axpy { places: [out, x, y], a, count } => {
                let [out, x, y] = [out, x, y].map(|place| Words::at(place, count, ordinal));
                let (out, x, y) = (out?, x?, y?);
                for at in 0..out.len() {
                    let [x, y] = [&x, &y].map(|words| f32::from_bits(words.load(at)));
                    out.store(at, a.mul_add(x, y).to_bits());
                }
                Ok(())
            }
        }
    }
}

/// Elements of 32 bits in memory of a device.
struct Words(Span);

impl Words {
    /// Looked up when the kernel runs. A device accesses its own memory, and that of the host.
    fn at(address: u64, count: u32, ordinal: usize) -> Result<Self, Status> {
        let address = usize::try_from(address).map_err(|_| Status::ILLEGAL_ADDRESS)?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let state = state::lock();
        match state.memory.at(address) {
            Place::Live(_, found) if found.host_sees() || found.ordinal == ordinal => {}
            _ => return Err(Status::ILLEGAL_ADDRESS),
        }
        state.memory.span(address, count.saturating_mul(4)).map(Self)
    }

    fn len(&self) -> usize {
        self.0.bytes().len() / 4
    }

    fn load(&self, at: usize) -> u32 {
        let mut word = [0; 4];
        for (byte, cell) in word.iter_mut().zip(&self.0.bytes()[4 * at..]) {
            *byte = cell.load(Ordering::Relaxed);
        }
        u32::from_le_bytes(word)
    }

    fn store(&self, at: usize, word: u32) {
        for (cell, byte) in self.0.bytes()[4 * at..].iter().zip(word.to_le_bytes()) {
            cell.store(byte, Ordering::Relaxed);
        }
    }
}
