//! The expansions of the derives for parts of a tensor compile whatever the names around them are.

#![no_implicit_prelude]
#![deny(warnings, clippy::pedantic, clippy::undocumented_unsafe_blocks)]
#![deny(single_use_lifetimes, unused_qualifications, trivial_casts, trivial_numeric_casts)]
#![deny(missing_docs, unreachable_pub, unused_lifetimes)]
#![forbid(unsafe_code)]

/// Names that an expansion could stumble over.
mod shadowed {
    #![expect(dead_code, non_camel_case_types, reason = "traps are not used")]

    pub(super) struct Result;
    pub(super) struct Option;
    pub(super) struct Copy;
    pub(super) struct Send;
    pub(super) struct Sync;
    pub(super) struct Sized;
    pub(super) struct TryFrom;
    pub(super) struct Element;
    pub(super) struct DataType;
    pub(super) struct Storage;
    pub(super) struct AsLayout;
    pub(super) struct Error;
    pub(super) struct Field;
    pub(super) struct FieldType;
    pub(super) fn field() {}
    pub(super) struct str;
    pub(super) struct bool;
    pub(super) struct u8;
    pub(super) struct usize;
    pub(super) struct i64;
    pub(super) mod core {}
    pub(super) mod std {}
    #[expect(non_snake_case, reason = "it is a trap")]
    pub(super) fn Ok() {}
    #[expect(non_snake_case, reason = "it is a trap")]
    pub(super) fn Err() {}

    #[derive(
        ::std::clone::Clone,
        ::std::marker::Copy,
        ::std::fmt::Debug,
        ::std::cmp::PartialEq,
        ::tensors::Element,
    )]
    #[dlpack(crate = ::tensors, any_bits)]
    #[repr(C)]
    pub(super) struct Pixel {
        pub(super) r#in: u16,
        pub(super) out: u16,
    }

    #[derive(::std::clone::Clone, ::std::marker::Copy, ::tensors::Record)]
    #[dlpack(crate = ::tensors, any_bits)]
    #[repr(C)]
    pub(super) struct Sample {
        /// Documented, as the constant is.
        pub(super) r#type: ::core::primitive::u16,
        pub(super) name: Pixel,
        __part0: ::core::primitive::u16,
    }

    impl Sample {
        pub(super) const NONE: Self =
            Self { r#type: 0, name: Pixel { r#in: 0, out: 0 }, __part0: 0 };
    }

    #[derive(
        ::std::clone::Clone, ::std::fmt::Debug, ::std::cmp::PartialEq, ::tensors::DataType,
    )]
    #[dlpack(crate = ::tensors)]
    pub(super) enum Kind {
        U16,
        #[dlpack(dtype = FLOAT8_E5M2)]
        r#Self_,
        #[dlpack(dtype = F32, big_endian)]
        Ordered,
        #[dlpack(skip)]
        Ok,
    }

    #[derive(::tensors::Storage)]
    #[dlpack(crate = ::tensors)]
    pub(super) enum Buffer<'a, T> {
        Some(&'a [T]),
        Err(::std::vec::Vec<Pixel>),
        #[dlpack(dtype = FLOAT4_E2M1FN, packed)]
        Bytes {
            r#type: ::std::vec::Vec<::core::primitive::u8>,
        },
        #[dlpack(skip)]
        None,
    }

    #[derive(::tensors::AsLayout)]
    #[dlpack(crate = ::tensors)]
    pub(super) struct Layout {
        pub(super) shape: [::core::primitive::usize; 1],
        pub(super) strides: [::core::primitive::isize; 1],
    }
}

use shadowed::{Buffer, Kind, Layout, Pixel, Sample};

#[derive(::tensors::DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Tensor<'a> {
    data: Buffer<'a, Pixel>,
    #[dlpack(layout)]
    layout: Layout,
}

#[::std::prelude::v1::test]
fn without_a_prelude_and_among_shadows() {
    use ::core::convert::TryFrom;
    use ::core::prelude::v1::Ok;
    use ::std::assert_eq;
    use ::tensors::{DLPackExport, DataType, Error};
    let pixels = [Pixel { r#in: 1, out: 2 }, Pixel { r#in: 3, out: 4 }];
    let layout = || Layout { shape: [1], strides: [1] };
    let view = |data| Tensor { data, layout: layout() }.tensor().map(|view| view.shape().len());
    assert_eq!(view(Buffer::Some(&pixels)), Ok(2));
    assert_eq!(view(Buffer::Err(::std::vec![pixels[0]])), Ok(2));
    assert_eq!(view(Buffer::Bytes { r#type: ::std::vec![0; 1] }), Ok(1));
    let none = view(Buffer::None);
    assert_eq!(none, ::core::result::Result::Err(Error::NoStorage { variant: "None" }));
    assert_eq!(DataType::try_from(Kind::Self_), Ok(DataType::FLOAT8_E5M2));
    assert_eq!(Kind::try_from(DataType::U16), Ok(Kind::U16));
    assert_eq!(Kind::try_from(DataType::F32).is_ok(), ::std::cfg!(target_endian = "big"));
    let text = DataType::try_from(Kind::Ok);
    assert_eq!(text, ::core::result::Result::Err(Error::NoDType { variant: "Ok" }));
    assert_eq!(Kind::Ordered, Kind::Ordered);
    assert_eq!(Sample::TYPE.name(), "type");
    assert_eq!((Sample::NAME.offset(), Sample::NAME.axes()), (2, &[2][..]));
    let _ = Sample::NONE;
}

/// Items whose every part has a user-defined name.
macro_rules! parts {
    ($krate:path, $element:ident($number:ty), $record:ident $field:ident, $kind:ident $variant:ident = $dtype:ident,
     $storage:ident $held:ident($owner:ty), $layout:ident $shape:ident: $dims:ty) => {
        #[derive(::std::clone::Clone, ::std::marker::Copy, ::tensors::Element)]
        #[dlpack(crate = $krate)]
        #[repr(transparent)]
        struct $element([$number; 2]);

        #[derive(::std::clone::Clone, ::std::marker::Copy, ::tensors::Record)]
        #[dlpack(crate = $krate)]
        #[repr(C)]
        struct $record {
            $field: $element,
        }

        #[derive(::tensors::DataType)]
        #[dlpack(crate = $krate)]
        enum $kind {
            #[dlpack(dtype = $dtype)]
            $variant,
        }

        #[derive(::tensors::Storage)]
        #[dlpack(crate = $krate)]
        enum $storage {
            $held($owner),
        }

        #[derive(::tensors::AsLayout)]
        #[dlpack(crate = $krate)]
        struct $layout {
            #[dlpack(shape)]
            $shape: $dims,
        }
    };
}

parts!(::tensors, Made(f32), Row cell, Named Byte = U8, Held Numbers(::std::vec::Vec<Made>),
    Flat n: [u8; 1]);

#[::std::prelude::v1::test]
fn made_by_a_macro() {
    use ::core::convert::TryFrom;
    use ::std::{assert_eq, matches};
    use ::tensors::{AsLayout, DataType, Element, Slot, Storage};
    assert_eq!(Made::AXES, [2]);
    assert_eq!(Row::CELL.axes(), [2]);
    let _ = Row { cell: Made([0.0; 2]) }.cell;
    let held = Held::Numbers(::std::vec![Made([0.5, 1.5]); 3]);
    let flat = Flat { n: [3] };
    let mut slot = Slot::new();
    let view = slot.describe().layout(flat.layout()).data(held.data()).expect("a view");
    assert_eq!(view.shape(), [3, 2]);
    assert_eq!(Made([0.0, 1.0]).0[1].to_bits(), 1.0_f32.to_bits());
    ::std::assert!(matches!(
        Named::try_from(DataType::U8),
        ::core::result::Result::Ok(Named::Byte)
    ));
}

mod lints {
    #[deprecated]
    pub(super) type Old = ::std::vec::Vec<::core::primitive::u8>;

    #[derive(::tensors::Storage)]
    #[dlpack(crate = ::tensors)]
    pub(super) enum OnTheVariant {
        #[allow(deprecated)]
        Old(Old),
    }
}

#[::std::prelude::v1::test]
fn what_is_allowed_stays_allowed() {
    use ::tensors::Storage;
    let old = lints::OnTheVariant::Old(::std::vec![0; 2]);
    ::std::assert_eq!(old.data().byte_len(), 2);
}
