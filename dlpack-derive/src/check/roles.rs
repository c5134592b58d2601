//! Assigns roles to fields.
//!
//! Both derives share this code, and `DLPackExport` skips the attributes for imports. A
//! mistake in a struct that derives both is the same message at the same place, which rustc
//! prints once.

use syn::Ident;

use crate::ast::Field;
use crate::attributes::{Role, Unit};
use crate::ctxt::Ctxt;
use crate::message;

/// A field that has a role.
#[derive(Clone, Copy)]
pub(super) struct Taken<'a> {
    pub(super) field: &'a Field<'a>,
    pub(super) unit: Unit,
    /// The attribute, if the role is given by one.
    pub(super) key: Option<&'a Ident>,
}

impl<'a> Taken<'a> {
    /// The token to which errors point: the attribute, or else the name.
    pub(super) fn place(&self) -> Option<&'a Ident> {
        self.key.or(match &self.field.member {
            syn::Member::Named(ident) => Some(ident),
            syn::Member::Unnamed(_) => None,
        })
    }
}

/// The field of each role.
pub(super) struct Roles<'a>([Option<Taken<'a>>; Role::ALL.len()]);

impl<'a> Roles<'a> {
    /// Assigns roles to the marked fields, then the remaining roles to the
    /// fields that have their names.
    pub(super) fn assign(cx: &Ctxt, fields: &'a [Field<'a>]) -> Self {
        one_role_per_field(cx, fields);
        let mut roles = Self(Role::ALL.map(|_| None));
        for field in fields {
            for mark in &field.attrs.roles {
                if let Some(taken) = roles.get(mark.role) {
                    let by = taken.field.name();
                    cx.push(message::role_taken(&mark.key, mark.role, &by));
                } else {
                    let taken = Taken { field, unit: mark.unit, key: Some(&mark.key) };
                    roles.0[mark.role as usize] = Some(taken);
                }
            }
        }
        for role in Role::ALL {
            let Some((name, unit)) = role.field_name() else { continue };
            if roles.get(role).is_none() {
                let mut unmarked = fields
                    .iter()
                    .filter(|field| field.attrs.roles.is_empty() && field.attrs.skip.is_none());
                let named = unmarked.find(|field| field.is_named(name));
                roles.0[role as usize] = named.map(|field| Taken { field, unit, key: None });
            }
        }
        roles
    }

    pub(super) fn get(&self, role: Role) -> Option<Taken<'a>> {
        self.0[role as usize]
    }

    pub(super) fn field(&self, role: Role) -> Option<&'a Field<'a>> {
        self.get(role).map(|taken| taken.field)
    }

    pub(super) fn has(&self, field: &Field<'_>) -> bool {
        self.0.iter().flatten().any(|taken| taken.field.member == field.member)
    }
}

/// Rejects fields with two roles, or with a role and `skip`.
fn one_role_per_field(cx: &Ctxt, fields: &[Field<'_>]) {
    for field in fields {
        let Some((first, others)) = field.attrs.roles.split_first() else { continue };
        for other in others.iter().filter(|other| other.role != first.role) {
            cx.push(message::two_roles(&field.name(), first.role, &other.key));
        }
        if let Some(skip) = field.attrs.skip {
            cx.push(message::role_and_skip(&field.name(), first.role.word(), skip));
        }
    }
}
