//! Linker arguments for an addon.

fn main() {
    napi_build::setup();
}
