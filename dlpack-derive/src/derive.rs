//! The derives of whole tensors, on tokens of `proc_macro2`, which can also be
//! used outside of rustc: in tests, and in `quality/fuzz`.

use proc_macro2::TokenStream;
use syn::DeriveInput;

use crate::attributes::Direction;
use crate::{ast, attr, check, ctxt, expand, fallback};

/// `#[derive(DLPackExport)]`.
pub(crate) fn export(input: &DeriveInput) -> TokenStream {
    let cx = ctxt::Ctxt::new(Direction::Export);
    let attrs = attr::StructAttrs::from_syn(&cx, input);
    let ast = ast::Input::from_syn(&cx, input, &attrs);
    let model = ast.as_ref().and_then(|ast| check::check(&cx, ast, &attrs));
    let names = expand::private(attrs.krate.as_ref());
    fallback::finish(cx, names, input, model, |model| expand::expand(&model), fallback::export)
}

/// `#[derive(DLPackImport)]`.
pub(crate) fn import(input: &DeriveInput) -> TokenStream {
    let cx = ctxt::Ctxt::new(Direction::Import);
    let attrs = attr::StructAttrs::from_syn(&cx, input);
    let ast = ast::Input::from_syn(&cx, input, &attrs);
    let model = ast.as_ref().and_then(|ast| check::import(&cx, ast, &attrs));
    let names = expand::module(attrs.krate.as_ref(), "import");
    fallback::finish(cx, names, input, model, |model| expand::import(&model), fallback::import)
}
