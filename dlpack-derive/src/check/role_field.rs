//! The part of a field that the model stores: [`role_field`].

use crate::ast::Field;
use crate::model::RoleField;

/// Returns the name and the type of a field, and the function that converts it.
pub(super) fn role_field<'a>(field: &'a Field<'a>) -> RoleField<'a> {
    let with = field.attrs.with.as_ref().and_then(|with| with.value.as_ref());
    RoleField { member: &field.member, ty: field.ty, with }
}
