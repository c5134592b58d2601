//! Checks of structs that are tensors, which build the parts of the model.

use syn::ext::IdentExt as _;
use syn::{Ident, Member};

use super::missing_role::UnmarkedFields;
use super::role_field::role_field;
use super::roles::{Roles, Taken};
use super::types;
use crate::ast::{Field, Input};
use crate::attr::{ConstDType, ConstOrder, Spanned, StructAttrs, WrittenDim};
use crate::ctxt::Ctxt;
use crate::dtype_names;
use crate::message;
use crate::model::{DType, Data, Dim, Layout, Order, Placement, RoleField, Shape, Steps, Tensor};
use crate::symbol::{Direction, Role, Unit};

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
    unmarked: Vec<(RoleField<'a>, &'static str)>,
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
        len: check.roles.counted(Role::Len),
        dtype: check.dtype(),
        // The device of memory behind a pointer is not checked, but taken from the field.
        device: check.roles.field(Role::Device).filter(|_| !matches!(data, Some(Data::Raw { .. }))),
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
    let len = check.roles.counted(Role::Len);
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

/// Rejects a name that is not a constant of `DataType`. The compiler's own error would
/// suggest no other spelling.
pub(super) fn known_dtype(cx: &Ctxt, word: &Ident) {
    if dtype_names::constant(&word.unraw().to_string()).is_none() {
        cx.push(message::unknown_dtype(word));
    }
}

/// Rejects `slice`, `shared` and `with` on fields that cannot have them.
fn converted(cx: &Ctxt, fields: &[Field<'_>]) {
    for field in fields {
        let (attrs, name) = (&field.attrs, field.name());
        if let (Some(slice), true) = (&attrs.slice, attrs.raw) {
            cx.push(message::slice_beside_pointer(&slice.key, &name));
        }
        if let (Some(shared), None) = (&attrs.shared, &attrs.slice) {
            cx.push(message::shared_without_slice(shared, &name));
        }
        let Some(with) = &attrs.with else { continue };
        let can = attrs.slice.is_some() && !attrs.raw
            || attrs.roles.iter().any(|mark| {
                let roles = [Role::Shape, Role::Strides, Role::Order, Role::DType, Role::Device];
                roles.contains(&mark.role)
            });
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
        converted(cx, fields);
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
            if let (None, false, Some(place)) = (owner, self.unread, data.place()) {
                self.cx.push(message::pointer_without_owner(place, &field.name()));
            }
            let raw = field.attrs.raw_len.as_ref()?;
            let device = self.roles.field(Role::Device);
            let len = self.dim(&raw.len, Role::Len)?;
            let spelled = raw.spelled;
            let pointer = role_field(field);
            return Some(Data::Raw { spelled, pointer, unit: raw.unit, len, device });
        }
        // A word that was rejected may have been meant as the pointer.
        if let (Some(key), false) = (owner.and_then(|owner| owner.key), self.unread) {
            self.cx.push(message::owner_without_pointer(key));
        }
        if let Some(slice) = &field.attrs.slice {
            let element = slice.value.as_ref()?;
            let shared = field.attrs.shared.is_some();
            return Some(Data::Slice { owner: role_field(field), element, shared });
        }
        if types::is_raw_pointer(field.ty) {
            self.cx.push(message::pointer_as_data(field.ty, &field.name()));
        } else if let Some(lock) = types::lock(field.ty) {
            self.cx.push(message::locked_data(lock, &field.name()));
        }
        Some(Data::Storage(role_field(field)))
    }

    fn placement(&self) -> Option<Placement<'a>> {
        if let Some(layout) = self.roles.get(Role::Layout) {
            self.beside_layout(layout);
            return Some(Placement::Nested(layout.role_field()));
        }
        let steps = self.steps();
        let offset = self.roles.counted(Role::Offset);
        Some(Placement::Fields { shape: self.shape()?, steps, offset })
    }

    /// Rejects roles that a `layout` already contains.
    fn beside_layout(&self, layout: Taken<'a>) {
        let layout_roles =
            [Role::Shape, Role::Strides, Role::Order, Role::Pitch, Role::Offset, Role::NDim];
        let by_field = layout_roles.into_iter().filter_map(|role| {
            let taken = self.roles.get(role)?;
            Some((taken.place()?, role))
        });
        let shape = self.attrs.shape.as_ref().map(|shape| (&shape.key, Role::Shape));
        let strides = self.attrs.strides.as_ref().map(|(_, strides)| (&strides.key, Role::Strides));
        let order = self.attrs.order.as_ref().map(|order| (&order.key, Role::Order));
        for (key, role) in by_field.chain(shape).chain(strides).chain(order) {
            self.cx.push(message::beside_layout(key, role, &layout.field.name()));
        }
    }

    fn shape(&self) -> Option<Shape<'a>> {
        let ndim = self.roles.get(Role::NDim);
        match (&self.attrs.shape, self.roles.get(Role::Shape)) {
            (None, Some(dims)) => {
                let ndim = ndim.map(|ndim| ndim.role_field());
                Some(Shape::Field { dims: dims.role_field(), ndim })
            }
            (Some(list), None) => {
                if let Some(key) = ndim.and_then(|ndim| ndim.key) {
                    self.cx.push(message::ndim_of_a_list(key, list.value.len()));
                }
                let dims: Vec<_> =
                    list.value.iter().filter_map(|dim| self.dim(dim, Role::Shape)).collect();
                if let Some(dim) = list.value.get(MOST_DIMS) {
                    self.cx.push(message::too_many_dims(dim.span(), list.value.len(), MOST_DIMS));
                }
                Some(Shape::List(dims))
            }
            (Some(list), Some(taken)) => {
                self.cx.push(message::two_shapes(&list.key, &taken.field.name()));
                None
            }
            (None, None) => {
                if !self.unread {
                    let data = self.roles.get(Role::Data).map(|data| data.field);
                    let data = data.filter(|data| !types::looks_like_a_buffer(data.ty));
                    let name = data.map(Field::name);
                    self.cx.push(message::no_shape(self.ident, name.as_deref()));
                }
                None
            }
        }
    }

    /// A number in a list: a field of that name, which then has that role, or else a
    /// constant.
    fn dim(&self, dim: &'a WrittenDim, role: Role) -> Option<Dim<'a>> {
        let path = match dim {
            WrittenDim::Integer(value, span) => return Some(Dim::Integer(*value, *span)),
            WrittenDim::Path(path) => path,
            WrittenDim::Method(call) if matches!(role, Role::Shape | Role::Strides) => {
                return Some(Dim::Method(call));
            }
            WrittenDim::Any(_)
                if role == Role::Shape && self.cx.direction() == Direction::Import =>
            {
                return Some(Dim::Any);
            }
            WrittenDim::Any(place) if role == Role::Shape => {
                self.cx.push(message::any_size_in_an_export(*place));
                return None;
            }
            WrittenDim::Any(place) if role == Role::Strides => {
                self.cx.push(message::any_stride(*place));
                return None;
            }
            WrittenDim::Method(_) | WrittenDim::Any(_) => {
                self.cx.push(message::expected_len(dim.span()));
                return None;
            }
        };
        let Some(word) = path.path.get_ident().filter(|_| path.qself.is_none()) else {
            return Some(Dim::Constant(path));
        };
        let name = word.unraw().to_string();
        if let Some(field) = self.fields.iter().find(|field| field.is_named(&name)) {
            if let Some(skip) = field.attrs.skip {
                self.cx.push(message::role_and_skip(&field.name(), role.word(), skip));
            }
            return Some(Dim::Field(role_field(field), word.span()));
        }
        if name.starts_with(|first: char| first.is_lowercase()) {
            let names: Vec<String> = self
                .fields
                .iter()
                .filter_map(|field| match &field.member {
                    Member::Named(ident) => Some(ident.unraw().to_string()),
                    Member::Unnamed(_) => None,
                })
                .collect();
            self.cx.push(message::no_such_field(word, self.ident, &names));
            return None;
        }
        Some(Dim::Constant(path))
    }

    fn steps(&self) -> Steps<'a> {
        let (constant, field) = (&self.attrs.order, self.roles.get(Role::Order));
        let pitch = self.roles.get(Role::Pitch);
        let (listed, strides) = (&self.attrs.strides, self.roles.get(Role::Strides));
        if listed.is_some() || strides.is_some() {
            let constant = constant.as_ref().map(|order| (&order.key, Role::Order));
            let field = field.and_then(|order| Some((order.place()?, Role::Order)));
            let pitch = pitch.and_then(|pitch| Some((pitch.place()?, Role::Pitch)));
            let name = strides.map(|strides| strides.field.name());
            for (key, role) in [constant, field, pitch].into_iter().flatten() {
                self.cx.push(message::beside_strides(key, role, name.as_deref()));
            }
        }
        match (listed, strides) {
            (Some((unit, list)), strides) => {
                if let Some(strides) = strides {
                    let name = strides.field.name();
                    self.cx.push(message::given_twice(&list.key, Role::Strides, &name));
                }
                return Steps::Listed(*unit, self.listed_strides(list));
            }
            (None, Some(strides)) => return Steps::Strides(strides.unit, strides.role_field()),
            (None, None) => {}
        }
        let order = match (constant, field) {
            (None, None) => Order::Default,
            (None, Some(field)) => Order::Field(field.role_field()),
            (Some(constant), field) => {
                if let Some(field) = field {
                    let name = field.field.name();
                    self.cx.push(message::given_twice(&constant.key, Role::Order, &name));
                }
                match constant.value {
                    Some(ConstOrder::ColumnMajor) => Order::ColumnMajor,
                    Some(ConstOrder::RowMajor) | None => Order::RowMajor,
                }
            }
        };
        Steps::Compact { order, pitch: self.roles.counted(Role::Pitch) }
    }

    /// The strides in a list on the struct.
    fn listed_strides(&self, list: &'a Spanned<Vec<WrittenDim>>) -> Vec<Dim<'a>> {
        if let [WrittenDim::Path(path)] = &list.value[..] {
            let unit = path.path.get_ident().filter(|word| {
                Unit::ALL.into_iter().any(|unit| *word == unit.word())
                    && !self.fields.iter().any(|field| field.is_named(&word.to_string()))
            });
            if let Some(unit) = unit {
                self.cx.push(message::unit_of_listed_strides(unit));
                return Vec::new();
            }
        }
        if let Some(shape) = &self.attrs.shape {
            let (strides, dims) = (list.value.len(), shape.value.len());
            if strides != dims && !self.unread && !self.attrs.names_unread {
                self.cx.push(message::other_rank(&list.key, strides, dims));
            }
        }
        list.value.iter().filter_map(|stride| self.dim(stride, Role::Strides)).collect()
    }

    fn dtype(&self) -> Option<DType<'a>> {
        let field = self.roles.get(Role::DType);
        let Some(constant) = &self.attrs.dtype else {
            return field.map(|field| DType::Field(field.role_field()));
        };
        if let Some(field) = field {
            self.cx.push(message::given_twice(&constant.key, Role::DType, &field.field.name()));
        }
        Some(match constant.value.as_ref()? {
            ConstDType::Named(ident) => {
                known_dtype(self.cx, ident);
                DType::Named(ident)
            }
            ConstDType::Path(path) => DType::Path(path),
        })
    }
}
