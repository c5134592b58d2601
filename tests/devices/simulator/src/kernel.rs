//! Kernels. The simulator supports three by name and does not read their code.

use std::ffi::{CStr, c_void};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::memory::Place;
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
}

/// A kernel with its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    kernel: Kernel,
    wide: u64,
    value: u32,
    count: u32,
    threads: u32,
}

impl Kernel {
    /// Its name in a module.
    pub(crate) fn name(self) -> &'static CStr {
        match self {
            Kernel::Fill => c"fill_u32",
            Kernel::Add => c"add_u32",
            Kernel::Spin => c"spin_ns",
        }
    }

    /// Returns the kernels of a PTX module. An unsupported kernel makes the module
    /// unusable here.
    pub(crate) fn of_image(image: &CStr) -> Result<Vec<Self>, Status> {
        let text = image.to_str().map_err(|_| Status::INVALID_IMAGE)?;
        let named = |name: &str| {
            let all = [Kernel::Fill, Kernel::Add, Kernel::Spin];
            all.into_iter().find(|kernel| kernel.name().to_bytes() == name.as_bytes())
        };
        let entries = text.split(".entry").skip(1);
        let kernels: Option<Vec<_>> =
            entries.map(|rest| named(rest.split('(').next().unwrap_or_default().trim())).collect();
        kernels.filter(|kernels| !kernels.is_empty()).ok_or(Status::INVALID_IMAGE)
    }

    /// Reads the arguments, as a launch does before it returns.
    ///
    /// # Safety
    ///
    /// 1. `parameters` points to as many pointers as the kernel has parameters,
    ///    each to a value of the parameter's type.
    pub(crate) unsafe fn launch(self, parameters: *const *const c_void, threads: u32) -> Launch {
        // SAFETY: (1) every kernel has a first parameter, of 64 bits.
        let wide = unsafe { parameters.read() }.cast::<u64>();
        // SAFETY: (1).
        let wide = unsafe { wide.read() };
        let [value, count] = if self == Kernel::Spin {
            [0, 0]
        } else {
            [1, 2].map(|index| {
                // SAFETY: (1) this kernel has three parameters.
                let parameter = unsafe { parameters.add(index) };
                // SAFETY: (1).
                let parameter = unsafe { parameter.read() }.cast::<u32>();
                // SAFETY: (1) the second and the third have 32 bits.
                unsafe { parameter.read() }
            })
        };
        Launch { kernel: self, wide, value, count, threads }
    }
}

impl Launch {
    /// Runs the kernel on a device; it may access only the memory of that device.
    pub(crate) fn run(&self, ordinal: usize) -> Result<(), Status> {
        if self.kernel == Kernel::Spin {
            thread::sleep(Duration::from_nanos(self.wide));
            return Ok(());
        }
        let to = usize::try_from(self.wide).map_err(|_| Status::ILLEGAL_ADDRESS)?;
        let count = usize::try_from(self.count.min(self.threads)).unwrap_or(usize::MAX);
        let span = {
            let state = state::lock();
            match state.memory.at(to) {
                Place::Live(_, found) if found.host_sees() || found.ordinal == ordinal => {}
                _ => return Err(Status::ILLEGAL_ADDRESS),
            }
            state.memory.span(to, count.saturating_mul(4))?
        };
        for element in span.bytes().chunks_exact(4) {
            let mut old = [0; 4];
            for (byte, cell) in old.iter_mut().zip(element) {
                *byte = cell.load(Ordering::Relaxed);
            }
            let new = match self.kernel {
                Kernel::Add => u32::from_le_bytes(old).wrapping_add(self.value),
                Kernel::Fill | Kernel::Spin => self.value,
            };
            for (cell, byte) in element.iter().zip(new.to_le_bytes()) {
                cell.store(byte, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}
