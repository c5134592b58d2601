//! The part of a field that the model stores: [`role_field`].

use crate::ast::Field;
use crate::model::RoleField;

/// Returns the name and the type of a field.
pub(super) fn role_field<'a>(field: &'a Field<'a>) -> RoleField<'a> {
    RoleField { member: &field.member, ty: field.ty }
}
