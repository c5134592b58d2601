//! What a device can do: the memory and the streams behind a tensor.
//!
//! A class, or an exchange table, names the devices that it serves as a type:
//! [`Cpu`], or a tuple of backends.

mod cpu;
mod prototype;
mod set;

pub use cpu::Cpu;
pub use prototype::Prototype;
pub use set::Backends;
