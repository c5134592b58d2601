//! Helpers of the tests on real runtimes: the runtimes' own functions, called as another
//! library calls them, and the message for a missing runtime.

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]
#![expect(clippy::missing_panics_doc, reason = "that is how a test fails")]
#![expect(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "handles are passed on; the tests make them themselves"
)]

pub mod cl;
pub mod conform;
pub mod sycl;

use std::io::Write;

/// Looks up functions by name. The tests are the safety argument of their own calls: they
/// pass what the runtime's documentation requires, or a value that it must reject.
macro_rules! functions {
    ($functions:ident { $($name:ident($($argument:ty),*) $(-> $answer:ty)?;)+ }) => {
        /// The functions, under their own names.
        #[derive(Debug)]
        #[expect(non_snake_case, reason = "as they are called in C")]
        pub struct $functions {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub $name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,
            )+
        }

        impl $functions {
            fn load(library: &'static libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $($name: {
                        // SAFETY: the type is the one in the header.
                        *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }?
                    },)+
                })
            }
        }
    };
}

pub(crate) use functions;

/// Prints that a test was skipped and why; fails where `DLPACK_REQUIRE` names the missing
/// runtime.
pub fn skipped<T>(what: &str, reason: &str) -> Option<T> {
    let required = std::env::var("DLPACK_REQUIRE").unwrap_or_default();
    let needed = required.split(',').any(|name| name.trim() == what);
    assert!(!needed, "DLPACK_REQUIRE names {what}, but {reason}");
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let line = format!("SKIPPED {test}: {reason}; `cargo xtask test --full` installs it\n");
    // Not `println!`, which is shown for tests that fail only.
    drop(std::io::stderr().write_all(line.as_bytes()));
    None
}
