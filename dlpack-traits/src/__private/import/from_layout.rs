//! The conversion of a whole layout into the type of a field: [`FromLayout`].

use super::accepted::Accepted;
use super::requirements::Requirement;
use super::{ImportError, ImportedTensor, MismatchKind, Order};

/// A field that can hold the `layout`: its type derives `FromLayout`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the `layout` of an imported tensor",
    label = "not a `FromLayout`",
    note = "add `#[derive(FromLayout)]` to `{Self}`, beside `AsLayout`"
)]
pub trait FromLayout: Sized {
    /// The order of a copy that is made for this layout.
    const ORDER: Order;

    /// Checks whether it can describe the elements in the memory of the tensor,
    /// or a copy of them.
    fn accepts(tensor: &ImportedTensor, shape: &[i64], copied: bool) -> Result<(), MismatchKind>;

    /// Makes the layout.
    fn from_layout(tensor: &Accepted<'_>) -> Result<Self, ImportError>;
}

/// [`FromLayout::accepts`].
pub fn meets(
    tensor: &ImportedTensor,
    shape: &[i64],
    copied: bool,
    wants: &[Requirement<'_>],
) -> Result<(), MismatchKind> {
    let mut wants = wants.iter().filter(|want| want.is_about(copied));
    wants.try_for_each(|want| want.meets(tensor, shape))
}
