//! What needs a look at more than one attribute, and the making of a `Model`.

use syn::{GenericParam, Type};

use crate::ast::{Field, Input};
use crate::attr::StructAttrs;
use crate::bounds::Params;
use crate::ctxt::Ctxt;
use crate::message;
use crate::model::{Access, Model, RoleField, Shape};
use crate::symbol::Role;

/// The model of a struct. Every check runs, also after a refusal; the model is
/// of use only if none refused.
pub(crate) fn check<'a>(cx: &Ctxt, input: &Input<'a>, attrs: &'a StructAttrs) -> Option<Model<'a>> {
    if let Some(packed) = attrs.packed {
        cx.push(message::packed(packed));
    }
    one_role_per_field(cx, input);
    let roles = Roles::assign(cx, input);
    // What was not understood may have been meant as the role that is missing.
    let unread = attrs.unread || input.fields.iter().any(|field| field.attrs.unread);

    let data = roles.field(Role::Data);
    if data.is_none() && !unread {
        cx.push(message::no_data(input.ident, likely_data(input, &roles)));
    }
    let shape = match (&attrs.shape, roles.field(Role::Shape)) {
        (None, Some(field)) => Some(Shape::Field(field)),
        (Some(dims), None) => Some(Shape::Constant(&dims.value)),
        (Some(dims), Some(field)) => {
            cx.push(message::two_shapes(&dims.key, field.ident));
            None
        }
        (None, None) => {
            if !unread {
                cx.push(message::no_shape(input.ident));
            }
            None
        }
    };
    Some(Model {
        krate: attrs.krate(),
        ident: input.ident,
        generics: input.generics,
        data: data?,
        shape: shape?,
        strides: roles.field(Role::Strides),
        byte_offset: roles.field(Role::ByteOffset),
        dtype: roles.field(Role::DType),
        device: roles.field(Role::Device),
        access: if attrs.read_only { Access::ReadOnly } else { Access::AsStorage },
        allowed: input.allowed.clone(),
        owned: owned(input),
    })
}

/// Refuses fields that were given two roles, or a role and `skip`.
fn one_role_per_field(cx: &Ctxt, input: &Input<'_>) {
    for field in &input.fields {
        let Some((first, others)) = field.attrs.roles.split_first() else { continue };
        for other in others.iter().filter(|other| other.value != first.value) {
            cx.push(message::two_roles(field.ident, first.value, &other.key));
        }
        if let Some(skip) = &field.attrs.skip {
            cx.push(message::role_and_skip(field.ident, first.value, skip));
        }
    }
}

/// Which field has which role.
struct Roles<'i, 'a>([Option<&'i Field<'a>>; Role::ALL.len()]);

impl<'i, 'a> Roles<'i, 'a> {
    /// Gives roles to the fields that are marked, then those that are left to
    /// the fields that are named after them.
    fn assign(cx: &Ctxt, input: &'i Input<'a>) -> Self {
        let mut roles = Self(Role::ALL.map(|_| None));
        for field in &input.fields {
            for marked in &field.attrs.roles {
                match roles.get(marked.value) {
                    Some(taken) => cx.push(message::role_taken(&marked.key, taken.ident)),
                    None => roles.0[marked.value as usize] = Some(field),
                }
            }
        }
        for role in Role::ALL {
            let named = || {
                input.fields.iter().find(|field| {
                    let unmarked = field.attrs.roles.is_empty() && field.attrs.skip.is_none();
                    unmarked && field.is_named(role.word())
                })
            };
            roles.0[role as usize] = roles.get(role).or_else(named);
        }
        roles
    }

    fn get(&self, role: Role) -> Option<&'i Field<'a>> {
        self.0[role as usize]
    }

    fn field(&self, role: Role) -> Option<RoleField<'a>> {
        self.get(role).map(|field| RoleField { ident: field.ident, ty: field.ty })
    }

    fn has(&self, field: &Field<'_>) -> bool {
        self.0.iter().flatten().any(|taken| taken.ident == field.ident)
    }
}

/// The field that was probably meant to be `data`: the only one without a role
/// that looks like a buffer.
fn likely_data<'i>(input: &'i Input<'_>, roles: &Roles<'_, '_>) -> Option<&'i syn::Ident> {
    let mut buffers = input.fields.iter().filter(|field| {
        !roles.has(field) && field.attrs.skip.is_none() && looks_like_a_buffer(field.ty)
    });
    match (buffers.next(), buffers.next()) {
        (Some(field), None) => Some(field.ident),
        _ => None,
    }
}

fn looks_like_a_buffer(ty: &Type) -> bool {
    match ty {
        Type::Array(_) | Type::Slice(_) => true,
        Type::Reference(reference) => looks_like_a_buffer(&reference.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| {
            ["Vec", "Box", "Arc", "SharedBuffer"].iter().any(|buffer| last.ident == buffer)
        }),
        _ => false,
    }
}

/// The types about which the struct alone decides whether a deleter may drop
/// them. A struct that borrows is viewed, never exported, so it may hold anything.
fn owned<'a>(input: &Input<'a>) -> Vec<&'a Type> {
    let borrows = |param: &GenericParam| matches!(param, GenericParam::Lifetime(_));
    if input.generics.params.iter().any(borrows) {
        return Vec::new();
    }
    let params = Params::of(input.generics);
    let fields = input.fields.iter().filter(|field| field.attrs.skip.is_none());
    fields.map(|field| field.ty).filter(|ty| !params.reach(ty)).collect()
}
