//! Checks of structs that are tensors, which build the parts of the model.

use syn::ext::IdentExt as _;
use syn::{Ident, Member};

use super::missing_role::UnmarkedFields;
use super::roles::{Roles, Taken};
use super::types;
use crate::ast::{Field, Input};
use crate::attr::{Stated, StatedValue, StructAttrs, Written};
use crate::attributes::{Direction, Role, Unit};
use crate::ctxt::Ctxt;
use crate::message;
use crate::model::{Data, Given, Layout, Placement, Shape, Steps, Tensor};

/// The maximum length of `shape(...)`: as many dimensions are stored without an allocation.
const MOST_DIMS: usize = 8;

/// The state of the checks of a struct.
struct Check<'c, 'a> {
    cx: &'c Ctxt,
    ident: &'a Ident,
    fields: &'a [Field<'a>],
    attrs: &'a StructAttrs,
    roles: Roles<'a>,
    /// A word that was rejected may have been meant as the missing role.
    unread: bool,
    /// Fields without a role, of types that may be aliases of integers.
    unmarked: Vec<(&'a Field<'a>, &'static str)>,
}

/// Builds the parts of a tensor from the fields of a struct.
pub(super) fn tensor<'a>(
    cx: &Ctxt,
    input: &'a Input<'a>,
    fields: &'a [Field<'a>],
    attrs: &'a StructAttrs,
) -> Option<Tensor<'a>> {
    let check = Check::begin(cx, input, fields, attrs, true);
    let data = check.data();
    let placement = check.placement();
    let layout = Layout {
        placement: placement?,
        len: check.counted(Role::Len),
        dtype: check.given(Role::DType),
        // The device of memory behind a pointer is not checked, but used.
        device: match data {
            Some(Data::Raw { .. }) => None,
            _ => check.given(Role::Device),
        },
        padded: attrs.padded.is_some(),
        spare_capacity: attrs.spare_capacity.is_some(),
        unmarked: check.unmarked,
    };
    Some(Tensor { data: data?, layout, sync: check.roles.field(Role::Sync) })
}

/// Builds the layout from the fields of a struct that contains no data.
pub(super) fn layout<'a>(
    cx: &Ctxt,
    input: &'a Input<'a>,
    fields: &'a [Field<'a>],
    attrs: &'a StructAttrs,
) -> Option<Layout<'a>> {
    let check = Check::begin(cx, input, fields, attrs, false);
    for role in [Role::Data, Role::DType, Role::Device, Role::Sync, Role::Owner] {
        if let Some(taken) = check.roles.get(role) {
            let place = taken.place().unwrap_or(input.ident);
            cx.push(message::not_in_a_layout(place, role.word()));
        }
    }
    let len = check.counted(Role::Len);
    let placement = check.placement()?;
    Some(Layout {
        placement,
        len,
        dtype: None,
        device: None,
        padded: attrs.padded.is_some(),
        spare_capacity: attrs.spare_capacity.is_some(),
        unmarked: check.unmarked,
    })
}

/// Rejects `slice`, `shared` and `with` on fields that cannot have them.
fn converted(cx: &Ctxt, fields: &[Field<'_>], roles: &Roles<'_>) {
    for field in fields {
        let (attrs, name) = (&field.attrs, field.name());
        if let (Some(slice), true) = (&attrs.slice, attrs.raw) {
            cx.push(message::slice_beside_pointer(&slice.key, &name));
        }
        let is_owner =
            field.owns_pointer() || attrs.roles.iter().any(|mark| mark.role == Role::Owner);
        if let (Some(shared), None, false) = (&attrs.shared, &attrs.slice, is_owner) {
            cx.push(message::shared_without_slice(shared, &name, attrs.raw));
        }
        let Some(with) = &attrs.with else { continue };
        let convertible = [Role::Shape, Role::Strides, Role::Order, Role::DType, Role::Device];
        let is_field = |taken: &Field<'_>| taken.member == field.member;
        let can = attrs.slice.is_some()
            || attrs.raw
            || attrs.roles.iter().any(|mark| convertible.contains(&mark.role))
            || convertible.iter().any(|&role| roles.field(role).is_some_and(is_field));
        // A rejected word may have been meant as the role.
        if !can && !attrs.unread {
            cx.push(message::with_without_role(&with.key, &name));
        }
    }
}

impl<'c, 'a> Check<'c, 'a> {
    /// Assigns roles to the fields, and rejects fields that might have one.
    fn begin(
        cx: &'c Ctxt,
        input: &'a Input<'a>,
        fields: &'a [Field<'a>],
        attrs: &'a StructAttrs,
        needs_data: bool,
    ) -> Self {
        let roles = Roles::assign(cx, fields);
        converted(cx, fields, &roles);
        let unread = attrs.unread || fields.iter().any(|field| field.attrs.unread);
        let ident = input.ident;
        let unmarked =
            UnmarkedFields { cx, ident, fields, attrs, roles: &roles, needs_data }.refuse();
        Self { cx, ident, fields, attrs, roles, unread, unmarked }
    }

    fn data(&self) -> Option<Data<'a>> {
        let owner = self.roles.get(Role::Owner);
        let Some(data) = self.roles.get(Role::Data) else {
            if !self.unread {
                let likely = types::likely_data(self.fields, &self.roles);
                let example = types::possible_data(self.fields, &self.roles);
                self.cx.push(message::no_data(self.ident, likely.as_deref(), example.as_deref()));
            }
            return None;
        };
        let field = data.field;
        if field.attrs.raw {
            let owner = owner.map(|owner| owner.field);
            let owner = owner.or(Some(field).filter(|field| field.owns_pointer()));
            if let (None, false, Some(place)) = (owner, self.unread, data.place()) {
                self.cx.push(message::pointer_without_owner(place, &field.name()));
            }
            let raw = field.attrs.raw_len.as_ref()?;
            let device = self.given(Role::Device);
            let len = self.resolve(&raw.len, Role::Len)?;
            return Some(Data::Raw {
                spelled: raw.spelled,
                pointer: field,
                unit: raw.unit,
                len,
                device,
                writable: raw.writable,
                shared: owner.filter(|owner| owner.attrs.shared.is_some()),
            });
        }
        // A word that was rejected may have been meant as the pointer.
        if let (Some(key), false) = (owner.and_then(|owner| owner.key), self.unread) {
            self.cx.push(message::owner_without_pointer(key));
        }
        if let Some(slice) = &field.attrs.slice {
            let element = slice.value.as_ref()?;
            let shared = field.attrs.shared.is_some();
            return Some(Data::Slice { owner: field, element, shared });
        }
        if types::is_raw_pointer(field.ty) {
            self.cx.push(message::pointer_as_data(field.ty, &field.name()));
        } else if let Some(lock) = types::lock(field.ty) {
            self.cx.push(message::locked_data(lock, &field.name()));
        }
        Some(Data::Storage(field))
    }

    fn placement(&self) -> Option<Placement<'a>> {
        if let Some(layout) = self.roles.get(Role::Layout) {
            self.beside_layout(layout);
            return Some(Placement::Nested(layout.field));
        }
        let steps = self.steps();
        let offset = self.counted(Role::Offset);
        Some(Placement::Fields { shape: self.shape()?, steps, offset })
    }

    /// Rejects roles that a `layout` already contains.
    fn beside_layout(&self, layout: Taken<'a>) {
        let layout_roles =
            [Role::Shape, Role::Strides, Role::Order, Role::Pitch, Role::Offset, Role::NDim];
        for role in layout_roles {
            if let Some(key) = self.place(role) {
                self.cx.push(message::beside_layout(key, role, &layout.field.name()));
            }
        }
    }

    /// The key on the struct, or the place of the field, that gives that part.
    fn place(&self, role: Role) -> Option<&'a Ident> {
        match self.attrs.stated(role) {
            Some(stated) => Some(&stated.key),
            None => self.roles.get(role)?.place(),
        }
    }

    /// The part with that role, on the struct or in a field, and its unit.
    fn counted(&self, role: Role) -> Option<(Unit, Given<'a>)> {
        let taken = self.roles.get(role);
        let Some(stated) = self.attrs.stated(role) else {
            return taken.map(|taken| (taken.unit, Given::of(taken.field)));
        };
        if let Some(taken) = taken {
            self.cx.push(message::given_twice(&stated.key, role, &taken.field.name()));
        }
        match &stated.value {
            StatedValue::One(Some(value)) => Some((stated.unit, self.resolve(value, role)?)),
            StatedValue::One(None) | StatedValue::List(_) => None,
        }
    }

    fn given(&self, role: Role) -> Option<Given<'a>> {
        self.counted(role).map(|(_, given)| given)
    }

    /// The numbers of that role that are listed on the struct.
    fn listed(&self, role: Role) -> Option<(&'a Stated, &'a [Written])> {
        let stated = self.attrs.stated(role)?;
        match &stated.value {
            StatedValue::List(list) => Some((stated, list)),
            StatedValue::One(_) => None,
        }
    }

    fn shape(&self) -> Option<Shape<'a>> {
        let dims = self.given(Role::Shape);
        let Some((_, list)) = self.listed(Role::Shape) else {
            if dims.is_none() && !self.unread && self.attrs.stated(Role::Shape).is_none() {
                let data = self.roles.get(Role::Data).map(|data| data.field);
                let data = data.filter(|data| !types::looks_like_a_buffer(data.ty));
                let name = data.map(Field::name);
                self.cx.push(message::no_shape(self.ident, name.as_deref()));
            }
            return Some(Shape::Whole { dims: dims?, ndim: self.given(Role::NDim) });
        };
        if let Some(key) = self.place(Role::NDim) {
            self.cx.push(message::ndim_of_a_list(key, list.len()));
        }
        if let Some(dim) = list.get(MOST_DIMS) {
            self.cx.push(message::too_many_dims(dim.span(), list.len(), MOST_DIMS));
        }
        let dims = list.iter().filter_map(|dim| self.resolve(dim, Role::Shape));
        Some(Shape::List(dims.collect()))
    }

    /// A value on the struct: a field of that name, which then has that role, or else a
    /// constant.
    fn resolve(&self, value: &'a Written, role: Role) -> Option<Given<'a>> {
        let path = match value {
            Written::Integer(value, span) => return Some(Given::Integer(*value, *span)),
            Written::Path(path) => path,
            Written::Call(call) => return Some(Given::Call(call)),
            Written::Any(_) if role == Role::Shape && self.cx.direction() == Direction::Import => {
                return Some(Given::Any);
            }
            Written::Any(place) => {
                self.cx.push(match role {
                    Role::Strides => message::any_stride(*place),
                    _ => message::any_size_in_an_export(*place),
                });
                return None;
            }
        };
        let Some(word) = path.path.get_ident().filter(|_| path.qself.is_none()) else {
            return Some(Given::Constant(path));
        };
        let name = word.unraw().to_string();
        if let Some(field) = self.fields.iter().find(|field| field.is_named(&name)) {
            if let Some(skip) = field.attrs.skip {
                self.cx.push(message::role_and_skip(&field.name(), role.word(), skip));
            }
            return Some(Given::Field(field, word.span()));
        }
        if role == Role::DType {
            self.cx.push(message::unknown_dtype(word));
            return None;
        }
        if name.starts_with(|first: char| first.is_lowercase()) {
            if role == Role::Order {
                let found = word.clone().into();
                self.cx.push(message::expected_order(Some(&found), word.span()));
                return None;
            }
            let names: Vec<String> = self
                .fields
                .iter()
                .filter_map(|field| match &field.member {
                    Member::Named(ident) => Some(ident.unraw().to_string()),
                    Member::Unnamed(_) => None,
                })
                .collect();
            let (place, name) = (word.span(), word.to_string());
            self.cx.push(message::no_such_field(place, &name, self.ident, &names, true));
            return None;
        }
        Some(Given::Constant(path))
    }

    fn steps(&self) -> Steps<'a> {
        if self.place(Role::Strides).is_some() {
            let strides = self.roles.field(Role::Strides);
            let strides = strides.filter(|_| self.attrs.stated(Role::Strides).is_none());
            let name = strides.map(Field::name);
            for role in [Role::Order, Role::Pitch] {
                if let Some(key) = self.place(role) {
                    self.cx.push(message::beside_strides(key, role, name.as_deref()));
                }
            }
        }
        let strides = self.counted(Role::Strides);
        if let Some((stated, list)) = self.listed(Role::Strides) {
            return Steps::Listed(stated.unit, self.listed_strides(stated, list));
        }
        match strides {
            Some((unit, strides)) => Steps::Strides(unit, strides),
            None => {
                Steps::Compact { order: self.given(Role::Order), pitch: self.counted(Role::Pitch) }
            }
        }
    }

    /// The strides in a list on the struct.
    fn listed_strides(&self, stated: &Stated, list: &'a [Written]) -> Vec<Given<'a>> {
        if let [Written::Path(path)] = list {
            let unit = path.path.get_ident().filter(|word| {
                Unit::ALL.into_iter().any(|unit| *word == unit.word())
                    && !self.fields.iter().any(|field| field.is_named(&word.to_string()))
            });
            if let Some(unit) = unit {
                self.cx.push(message::unit_of_listed_strides(unit));
                return Vec::new();
            }
        }
        if let Some((_, dims)) = self.listed(Role::Shape) {
            let (strides, dims) = (list.len(), dims.len());
            if strides != dims && !self.unread && !self.attrs.names_unread {
                self.cx.push(message::other_rank(&stated.key, strides, dims));
            }
        }
        list.iter().filter_map(|stride| self.resolve(stride, Role::Strides)).collect()
    }
}
