//! The check that the compiled crate depends on `dlpack-traits`.
//!
//! A crate that reaches it by a re-export needs `#[dlpack(crate = path)]`. Without it, rustc says
//! only that the crate root has no `dlpack_traits`.

use proc_macro2::Span;

use crate::message::refusal;

/// Whether Cargo's manifest of the compiled crate contains the name of the runtime, as each
/// dependency, own package and renamed dependency does. Where there is no manifest, as in other
/// build systems, rustc finds out.
pub(crate) fn has_runtime() -> bool {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").and_then(|folder| {
        std::fs::read_to_string(std::path::Path::new(&folder).join("Cargo.toml")).ok()
    });
    manifest.is_none_or(|text| names_runtime(&text))
}

fn names_runtime(manifest: &str) -> bool {
    manifest.contains("dlpack-traits") || manifest.contains("dlpack_traits")
}

/// The error for a crate without that dependency.
pub(crate) fn no_dependency() -> syn::Error {
    refusal(
        Span::call_site(),
        "this crate has no dependency `dlpack-traits`, which the derive names",
        "if another crate re-exports it, write `#[dlpack(crate = that_crate::dlpack_traits)]` \
         above the item; otherwise run `cargo add dlpack-traits`",
    )
}

#[cfg(test)]
mod tests {
    use super::names_runtime;

    #[test]
    fn dependency_is_found_in_each_form() {
        for manifest in [
            "[dependencies]\ndlpack-traits = \"0.1\"",
            "[dependencies.dlpack-traits]\nworkspace = true",
            "[dependencies]\ndlpack_traits = { path = \"..\" }",
            "[dependencies]\ntensors = { package = \"dlpack-traits\", version = \"0.1\" }",
        ] {
            assert!(names_runtime(manifest), "{manifest}");
        }
        assert!(!names_runtime("[dependencies]\nimages = \"1\""));
    }
}
