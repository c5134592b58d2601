//! The expansions compile whatever the names around them are: enums, tuple structs and
//! newtypes, and the derives beside `DLPackExport`. Structs with named fields are in
//! `named_fields.rs`.

#![no_implicit_prelude]
#![deny(warnings, clippy::pedantic)]
#![deny(single_use_lifetimes, unused_qualifications, trivial_casts, trivial_numeric_casts)]
#![forbid(unsafe_code)]

/// Names that an expansion could stumble over.
mod shadowed {
    #![expect(dead_code, non_camel_case_types, reason = "traps are not used")]

    pub(super) struct Result;
    pub(super) struct Option;
    pub(super) struct Vec;
    pub(super) struct Box;
    pub(super) struct Send;
    pub(super) struct Sync;
    pub(super) struct Copy;
    pub(super) struct Clone;
    pub(super) struct Sized;
    pub(super) struct Into;
    pub(super) struct TryFrom;
    pub(super) struct Element;
    pub(super) struct DataType;
    pub(super) struct Storage;
    pub(super) struct AsLayout;
    pub(super) struct Layout;
    pub(super) struct Order;
    pub(super) struct Data;
    pub(super) struct DataRef;
    pub(super) struct Error;
    pub(super) struct Tensor;
    pub(super) struct Inner;
    pub(super) struct Parts;
    pub(super) struct Wraps;
    pub(super) struct Variant;
    pub(super) struct bool;
    pub(super) struct u8;
    pub(super) struct usize;
    pub(super) struct i64;
    pub(super) struct i128;
    pub(super) mod core {}
    pub(super) mod std {}
    pub(super) mod alloc {}
    pub(super) mod dlpack_traits {}
    #[expect(non_snake_case, reason = "it is a trap")]
    pub(super) fn Some() {}
    #[expect(non_snake_case, reason = "it is a trap")]
    pub(super) fn None() {}
    #[expect(non_snake_case, reason = "it is a trap")]
    pub(super) fn Ok() {}
    #[expect(non_snake_case, reason = "it is a trap")]
    pub(super) fn Err() {}
    pub(super) fn tensor() {}
    pub(super) fn data() {}
    pub(super) fn dtype() {}

    /// An element of every kind, in the scope of all those names.
    #[derive(::core::clone::Clone, ::core::marker::Copy, ::tensors::Element)]
    #[dlpack(crate = ::tensors, any_bits)]
    #[repr(transparent)]
    pub(super) struct Metres(pub(super) f32);

    #[derive(::core::clone::Clone, ::core::marker::Copy, ::tensors::Element)]
    #[dlpack(crate = ::tensors, any_bits, lanes)]
    #[repr(transparent)]
    pub(super) struct Four(pub(super) [i32; 4]);

    #[derive(::core::clone::Clone, ::core::marker::Copy, ::tensors::Element)]
    #[dlpack(crate = ::tensors)]
    #[repr(C)]
    pub(super) struct Pair<T: ::tensors::Element> {
        pub(super) x: T,
        pub(super) y: T,
    }

    #[derive(::core::clone::Clone, ::tensors::DataType)]
    #[dlpack(crate = ::tensors)]
    pub(super) enum Kind {
        F32,
        #[dlpack(dtype = Self::OWN)]
        Own,
        #[dlpack(dtype = F64, big_endian)]
        Big,
        #[dlpack(dtype = F32, alias)]
        Single,
        #[dlpack(skip)]
        Text,
    }

    impl Kind {
        const OWN: ::tensors::DataType = ::tensors::DataType::I16;
    }

    #[derive(::tensors::Storage)]
    #[dlpack(crate = ::tensors)]
    pub(super) enum Column {
        Metres(::std::vec::Vec<Metres>),
        Pair {
            data: ::std::boxed::Box<[Pair<i16>]>,
        },
        #[dlpack(dtype = FLOAT4_E2M1FN, packed)]
        Narrow(::std::vec::Vec<::core::primitive::u8>),
        #[dlpack(skip)]
        Text(::std::vec::Vec<::std::string::String>),
    }

    #[derive(::tensors::Storage)]
    #[dlpack(crate = ::tensors)]
    pub(super) struct Around<S>(pub(super) S);

    #[derive(::tensors::AsLayout)]
    #[dlpack(crate = ::tensors)]
    pub(super) struct Place {
        pub(super) shape: [::core::primitive::u8; 2],
        #[dlpack(order)]
        pub(super) order: ::tensors::Order,
        #[dlpack(offset(elements))]
        pub(super) offset: ::core::primitive::usize,
    }

    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors)]
    pub(super) struct Placed<S> {
        pub(super) data: S,
        #[dlpack(layout)]
        pub(super) layout: Place,
    }

    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors, spare_capacity)]
    pub(super) struct Line<S>(
        #[dlpack(data)] pub(super) S,
        #[dlpack(shape)] pub(super) [::core::primitive::usize; 1],
        #[dlpack(dtype)] pub(super) Kind,
    );

    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors, transparent)]
    pub(super) struct Newtype<E>(pub(super) E);

    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors)]
    pub(super) enum Either {
        Placed(Newtype<Placed<Around<Column>>>),
        Line {
            line: Line<::std::sync::Arc<[::core::primitive::u8]>>,
        },
        #[dlpack(skip)]
        Neither,
    }
}

#[::std::prelude::v1::test]
fn among_shadows() {
    use ::core::convert::TryFrom;
    use ::core::result::Result::{Err, Ok};
    use ::std::{assert_eq, vec};
    use ::tensors::{DLPackExport, DataType, Element, Error, Order};
    use shadowed::{
        Around, Column, Either, Four, Kind, Line, Metres, Newtype, Pair, Place, Placed,
    };

    let placed = |column| {
        let layout = Place { shape: [2, 1], order: Order::ColumnMajor, offset: 1 };
        Either::Placed(Newtype(Placed { data: Around(column), layout }))
    };
    let metres = placed(Column::Metres(vec![Metres(0.5), Metres(1.5), Metres(2.5)]));
    assert_eq!(metres.into_dlpack().unwrap().dtype(), DataType::F32);
    let pairs = ::std::boxed::Box::new([Pair { x: 1, y: 2 }; 3]);
    let pairs = placed(Column::Pair { data: pairs }).into_dlpack().unwrap();
    assert_eq!(pairs.shape(), [2, 1, 2]);
    let narrow = placed(Column::Narrow(vec![0; 2])).into_dlpack().unwrap_err();
    assert_eq!(narrow, Error::InsideByte { dtype: DataType::FLOAT4_E2M1FN });
    let text = placed(Column::Text(vec![])).into_dlpack().unwrap_err();
    assert_eq!(text, Error::NoStorage { variant: "Text" });
    assert_eq!(Four([1, 2, 3, 4]).0.len(), 4);
    assert_eq!(Four::DTYPE, DataType::I32.with_lanes(4));
    let line = |kind| Either::Line { line: Line(::std::sync::Arc::new([0; 8]), [1], kind) };
    for (kind, dtype) in
        [(Kind::F32, DataType::F32), (Kind::Single, DataType::F32), (Kind::Own, DataType::I16)]
    {
        assert_eq!(line(kind).tensor().unwrap().dtype(), dtype);
    }
    let big = line(Kind::Big).tensor().map(|view| view.dtype());
    let native = ::core::cfg!(target_endian = "big");
    assert_eq!(big, if native { Ok(DataType::F64) } else { Err(Error::NotNativeEndian) });
    let text = line(Kind::Text).to_dlpack().unwrap_err();
    assert_eq!(text, Error::NoDType { variant: "Text" });
    let neither = Either::Neither.into_dlpack().unwrap_err();
    assert_eq!(neither, Error::NoStorage { variant: "Neither" });
    ::std::assert!(::core::matches!(Kind::try_from(DataType::I16), Ok(Kind::Own)));
}

mod raw {
    #![expect(non_camel_case_types, reason = "keywords are lower case")]

    use ::core::clone::Clone;
    use ::core::marker::Copy;
    use ::std::vec::Vec;

    #[derive(Clone, Copy, ::tensors::Element)]
    #[dlpack(crate = ::tensors, r#any_bits)]
    #[repr(C)]
    pub(super) struct r#Type {
        pub(super) r#fn: u8,
        pub(super) r#mod: u8,
    }

    #[derive(Clone, ::tensors::DataType)]
    #[dlpack(crate = ::tensors)]
    pub(super) enum r#enum {
        r#bool,
        #[dlpack(dtype = U8)]
        r#move,
        #[dlpack(r#skip)]
        r#match,
    }

    #[derive(::tensors::Storage)]
    #[dlpack(crate = ::tensors)]
    pub(super) enum r#union {
        r#struct {
            r#impl: Vec<r#Type>,
        },
        #[dlpack(skip)]
        r#try,
    }

    #[derive(::tensors::AsLayout)]
    #[dlpack(crate = ::tensors)]
    pub(super) struct r#where {
        pub(super) r#shape: [u8; 1],
        #[dlpack(offset(elements))]
        pub(super) r#in: u8,
    }

    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors)]
    pub(super) struct r#loop<r#T>(
        #[dlpack(r#data)] pub(super) r#T,
        #[dlpack(r#layout)] pub(super) r#where,
    );

    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors)]
    pub(super) enum r#dyn {
        r#true {
            r#box: r#loop<r#union>,
        },
        #[dlpack(skip)]
        r#false,
    }
}

#[::std::prelude::v1::test]
fn raw_identifiers() {
    use ::core::convert::TryFrom;
    use ::core::result::Result::{Err, Ok};
    use ::std::{assert_eq, vec};
    use ::tensors::{DLPackExport, DataType, Error};

    let data = raw::r#union::r#struct { r#impl: vec![raw::Type { r#fn: 1, r#mod: 2 }; 3] };
    let layout = raw::r#where { shape: [2], r#in: 1 };
    let tensor = raw::r#dyn::r#true { r#box: raw::r#loop(data, layout) };
    assert_eq!(tensor.tensor().unwrap().shape(), [2, 2]);
    let nothing = raw::r#loop(raw::r#union::r#try, raw::r#where { shape: [0], r#in: 0 });
    // Names are without their marks.
    assert_eq!(nothing.into_dlpack().unwrap_err(), Error::NoStorage { variant: "try" });
    let nothing = raw::r#dyn::r#false.into_dlpack().unwrap_err();
    assert_eq!(nothing, Error::NoStorage { variant: "false" });
    let dtypes = [raw::r#enum::bool, raw::r#enum::r#move, raw::r#enum::r#match];
    assert_eq!(
        dtypes.map(DataType::try_from),
        [Ok(DataType::BOOL), Ok(DataType::U8), Err(Error::NoDType { variant: "match" })]
    );
}

mod lints {
    #[deprecated]
    pub(super) type Old = ::std::vec::Vec<::core::primitive::u8>;

    #[derive(::tensors::Storage)]
    #[dlpack(crate = ::tensors)]
    #[expect(deprecated, reason = "the expansion must not mind either")]
    pub(super) enum OnTheEnum {
        Bytes(Old),
    }

    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors)]
    pub(super) struct OnTheField(
        #[allow(deprecated)]
        #[dlpack(data)]
        pub(super) Old,
        #[dlpack(shape)] pub(super) [::core::primitive::usize; 1],
    );
}

#[::std::prelude::v1::test]
fn what_is_allowed_stays_allowed() {
    use ::std::{assert_eq, vec};
    use ::tensors::{DLPackExport, Storage};
    assert_eq!(lints::OnTheEnum::Bytes(vec![1, 2]).data().byte_len(), 2);
    assert_eq!(lints::OnTheField(vec![1, 2], [2]).into_dlpack().unwrap().shape(), [2]);
}

/// Types whose every part has a user-defined name.
macro_rules! made {
    (
        $krate:path, $element:ident($part:ty) $bits:ident,
        $kind:ident { $variant:ident = $dtype:ident, $other:ident = $constant:path },
        $column:ident { $held:ident($owner:ty) },
        $place:ident { $shape:ident: $dims:ty, $step:ident($unit:ident): $strides:ty },
        $line:ident { $data:ident, $layout:ident }, $either:ident { $one:ident }
    ) => {
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::tensors::Element)]
        #[dlpack(crate = $krate, $bits)]
        #[repr(transparent)]
        struct $element($part);

        #[derive(::tensors::DataType)]
        #[dlpack(crate = $krate)]
        enum $kind {
            #[dlpack(dtype = $dtype)]
            $variant,
            #[dlpack(dtype = $constant)]
            $other,
        }

        #[derive(::tensors::Storage)]
        #[dlpack(crate = $krate)]
        enum $column {
            $held($owner),
        }

        #[derive(::tensors::AsLayout)]
        #[dlpack(crate = $krate)]
        struct $place {
            #[dlpack(shape)]
            $shape: $dims,
            #[dlpack($step($unit))]
            steps: $strides,
        }

        #[derive(::tensors::DLPackExport)]
        #[dlpack(crate = $krate)]
        struct $line {
            #[dlpack(data)]
            $data: $column,
            #[dlpack(layout)]
            $layout: $place,
        }

        #[derive(::tensors::DLPackExport)]
        #[dlpack(crate = $krate)]
        enum $either {
            $one($line),
        }
    };
}

made! {
    ::tensors, Celsius(f32) any_bits,
    Precision { Single = F32, Double = ::tensors::DataType::F64 },
    Temperatures { Celsius(::std::vec::Vec<Celsius>) },
    Backwards { extents: [usize; 1], strides(bytes): [i16; 1] },
    Series { values, place }, Climate { Year }
}

#[::std::prelude::v1::test]
fn made_by_a_macro() {
    use ::core::convert::TryFrom;
    use ::core::result::Result::Ok;
    use ::std::{assert_eq, vec};
    use ::tensors::{DLPackExport, DataType};

    let values = Temperatures::Celsius(vec![Celsius(20.5), Celsius(-3.0)]);
    let climate = Climate::Year(Series { values, place: Backwards { extents: [1], steps: [-4] } });
    assert_eq!(climate.into_dlpack().unwrap().strides(), [-1]);
    assert_eq!(
        [Precision::Single, Precision::Double].map(DataType::try_from),
        [Ok(DataType::F32), Ok(DataType::F64)]
    );
    assert_eq!(Celsius(0.5).0.to_bits(), 0.5_f32.to_bits());
}

#[::std::prelude::v1::test]
fn inside_a_function() {
    use ::std::assert_eq;
    use ::std::vec::Vec;
    use ::tensors::DLPackExport;

    /// Visible in this function only.
    const PARTS: usize = 3;

    #[derive(::core::clone::Clone, ::core::marker::Copy, ::tensors::Element)]
    #[dlpack(crate = ::tensors)]
    #[repr(transparent)]
    struct Local([u8; PARTS]);

    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors, shape(PARTS))]
    struct Three(#[dlpack(data)] Vec<Local>);

    let three = Three([Local([1, 2, 3]); PARTS].to_vec());
    assert_eq!(three.0[0].0, [1, 2, 3]);
    assert_eq!(three.into_dlpack().unwrap().shape(), [3, 3]);
}
