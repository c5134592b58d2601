//! The expansion compiles whatever the names around it are.

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
    pub(super) struct Sized;
    pub(super) struct Storage;
    pub(super) struct Error;
    pub(super) struct Roles;
    pub(super) struct u8;
    pub(super) struct usize;
    pub(super) struct i64;
    pub(super) struct i128;
    pub(super) fn tensor() {}
    pub(super) mod core {}
    pub(super) mod std {}
    #[expect(non_snake_case, reason = "it is a trap")]
    pub(super) fn Some() {}
    #[expect(non_snake_case, reason = "it is a trap")]
    pub(super) fn Ok() {}

    /// In the scope of all those names.
    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors, shape(2, ROWS, Self::COLUMNS))]
    pub(super) struct Image {
        pub(super) data: ::std::vec::Vec<f32>,
        pub(super) strides: [isize; 3],
        pub(super) byte_offset: u16,
    }

    /// Everything that is read at run time.
    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors, shape(rows, ROWS, Self::COLUMNS), dtype = U16, padded)]
    pub(super) struct Frame {
        pub(super) data: ::std::vec::Vec<::core::primitive::u8>,
        pub(super) rows: ::core::primitive::u8,
        #[dlpack(order)]
        pub(super) order: ::tensors::Order,
        #[dlpack(pitch(elements))]
        pub(super) pitch: ::core::primitive::usize,
        #[dlpack(len(bytes))]
        pub(super) len: ::core::primitive::usize,
        #[dlpack(sync)]
        pub(super) shape: ::core::option::Option<Never>,
    }

    impl Frame {
        const COLUMNS: ::core::primitive::i8 = 1;
    }

    pub(super) enum Never {}

    impl ::tensors::Synchronize for Never {
        fn sync_for(
            &self,
            _: ::tensors::StreamArg<'_>,
        ) -> ::core::result::Result<(), ::tensors::Error> {
            match *self {}
        }
    }

    /// Variants with the names that the expansion uses.
    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors)]
    pub(super) enum Variants {
        Type(Newtype),
        #[dlpack(skip)]
        None,
        #[dlpack(skip)]
        Fields,
    }

    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors, transparent)]
    pub(super) struct Newtype(pub(super) Frame);

    /// In and out, in the scope of all those names.
    #[derive(::tensors::DLPackExport, ::tensors::DLPackImport)]
    #[dlpack(crate = ::tensors, shape(rows, ROWS, Self::COLUMNS, rows))]
    #[dlpack(require(device = cpu, dtype(U8, ::tensors::DataType::I8), rank = 4, contiguous))]
    #[dlpack(validate = Self::check)]
    pub(super) struct Given {
        pub(super) data: ::tensors::ImportedStorage<::core::primitive::u8>,
        pub(super) rows: ::core::primitive::u8,
        pub(super) device: ::tensors::Device,
        pub(super) dtype: ::tensors::DataType,
        #[dlpack(pitch(bytes))]
        pub(super) r#type: ::core::primitive::usize,
        #[dlpack(len(elements))]
        pub(super) tensor: ::core::primitive::usize,
        #[dlpack(skip, default)]
        pub(super) shape: ::core::option::Option<Never>,
    }

    impl Given {
        const COLUMNS: ::core::primitive::i8 = 2;

        fn check(&self) -> ::core::result::Result<(), ::tensors::Error> {
            if self.shape.is_none() {
                ::core::result::Result::Ok(())
            } else {
                ::core::result::Result::Err(::tensors::Error::Custom("never"))
            }
        }
    }

    /// Arguments with the names that the expansion uses.
    #[derive(::tensors::DLPackImport)]
    #[dlpack(crate = ::tensors, construct = make)]
    pub(super) struct Made {
        #[dlpack(data, copy)]
        pub(super) tensor: ::std::vec::Vec<::core::primitive::u8>,
        #[dlpack(shape)]
        pub(super) r#move: [::core::primitive::usize; 4],
    }

    fn make(
        tensor: ::std::vec::Vec<::core::primitive::u8>,
        r#move: [::core::primitive::usize; 4],
    ) -> ::core::result::Result<Made, ::tensors::Error> {
        if r#move[0] == 1 {
            ::core::result::Result::Ok(Made { tensor, r#move })
        } else {
            ::core::result::Result::Err(::tensors::Error::Custom("one row"))
        }
    }

    #[derive(::tensors::DLPackImport)]
    #[dlpack(crate = ::tensors)]
    pub(super) enum Source {
        Want(Given),
        #[dlpack(skip)]
        None,
        Parts {
            inner: Made,
            #[dlpack(skip, default = ::core::default::Default::default)]
            variant: ::core::primitive::u8,
        },
    }

    const ROWS: ::core::primitive::usize = 1;

    impl Image {
        const COLUMNS: ::core::primitive::i128 = 2;
    }
}

#[::std::prelude::v1::test]
fn without_a_prelude_and_among_shadows() {
    use ::std::assert_eq;
    use ::tensors::DLPackExport;
    let image = shadowed::Image { data: ::std::vec![0.0; 5], strides: [2, 2, 1], byte_offset: 4 };
    let tensor = image.into_dlpack().unwrap();
    assert_eq!(tensor.shape(), [2, 1, 2]);
}

#[::std::prelude::v1::test]
fn enums_and_newtypes_among_shadows() {
    use ::std::{assert_eq, vec};
    use ::tensors::DLPackExport;
    let frame = || shadowed::Frame {
        data: vec![0; 4],
        rows: 1,
        order: ::tensors::Order::RowMajor,
        pitch: 1,
        len: 2,
        shape: ::core::option::Option::None,
    };
    let newtype = || shadowed::Newtype(frame());
    for tensor in
        [frame().tensor().map(|view| view.ndim()), newtype().tensor().map(|view| view.ndim())]
    {
        // Bytes may be aligned for no more than bytes.
        assert_eq!(tensor.unwrap_or(3), 3);
    }
    let variant = shadowed::Variants::Type(newtype());
    assert_eq!(variant.tensor().map_or(3, |view| view.ndim()), 3);
    let error = ::tensors::Error::NoStorage { variant: "None" };
    assert_eq!(shadowed::Variants::None.tensor().unwrap_err(), error);
    ::std::assert!(shadowed::Variants::Fields.into_dlpack().is_err());
}

mod raw {
    use ::std::string::String;
    use ::std::vec::Vec;

    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors)]
    pub(super) struct r#Type {
        #[dlpack(data)]
        pub(super) r#match: Vec<u8>,
        pub(super) r#shape: [u8; 1],
        #[dlpack(r#strides)]
        pub(super) r#move: [i8; 1],
        #[dlpack(skip)]
        pub(super) r#dtype: String,
    }
}

#[::std::prelude::v1::test]
fn raw_identifiers() {
    use ::std::assert_eq;
    use ::tensors::DLPackExport;
    let raw = raw::Type {
        r#match: ::std::vec![1, 2, 3],
        shape: [2],
        r#move: [2],
        dtype: ::std::string::String::new(),
    };
    assert_eq!(raw.dtype.len(), 0);
    assert_eq!(raw.tensor().unwrap().strides(), [2]);
}

mod lints {
    #[deprecated]
    pub(super) type Old = ::std::vec::Vec<::core::primitive::u8>;

    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors)]
    #[expect(deprecated, reason = "the expansion must not mind either")]
    pub(super) struct OnTheStruct {
        pub(super) data: Old,
        pub(super) shape: [::core::primitive::usize; 1],
    }

    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors)]
    pub(super) struct OnTheField {
        #[allow(deprecated)]
        pub(super) data: Old,
        pub(super) shape: [::core::primitive::usize; 1],
    }
}

#[::std::prelude::v1::test]
fn what_is_allowed_stays_allowed() {
    use ::std::{assert_eq, vec};
    use ::tensors::DLPackExport;
    let on_the_struct = lints::OnTheStruct { data: vec![0; 2], shape: [2] };
    assert_eq!(on_the_struct.into_dlpack().unwrap().shape(), [2]);
    let on_the_field = lints::OnTheField { data: vec![0; 2], shape: [2] };
    assert_eq!(on_the_field.into_dlpack().unwrap().shape(), [2]);
}

/// A struct whose every part has a user-defined name.
macro_rules! image {
    (
        $name:ident, $data:ident: $owner:ty, $role:ident $dims:ident: $list:ty,
        $krate:path, [$($constant:tt)*] $fixed:ident, $length:expr
    ) => {
        #[derive(::tensors::DLPackExport)]
        #[dlpack(crate = $krate)]
        struct $name {
            #[dlpack(data)]
            $data: $owner,
            #[dlpack($role)]
            $dims: $list,
            strides: [isize; $length],
        }

        #[derive(::tensors::DLPackExport)]
        #[dlpack(crate = $krate, shape($($constant)*, $length))]
        struct $fixed {
            data: $owner,
        }
    };
}

image!(Made, pixels: ::std::vec::Vec<u8>, shape dims: [usize; 2], ::tensors, [2] Fixed, 2);

#[::std::prelude::v1::test]
fn made_by_a_macro() {
    use ::std::assert_eq;
    use ::tensors::DLPackExport;
    let made = Made { pixels: ::std::vec![0; 4], dims: [2, 2], strides: [2, 1] };
    assert_eq!(made.tensor().unwrap().shape(), [2, 2]);
    let fixed = Fixed { data: ::std::vec![0; 4] };
    assert_eq!(fixed.tensor().unwrap().shape(), [2, 2]);
}

#[::std::prelude::v1::test]
fn inside_a_function() {
    use ::std::assert_eq;
    use ::std::sync::Arc;
    use ::tensors::DLPackExport;

    /// Longer than the value of `TWO`, in a place that constants can name.
    const TWO: usize = 2;

    #[derive(::tensors::DLPackExport)]
    #[dlpack(crate = ::tensors)]
    struct Local {
        data: Arc<[u8]>,
        shape: [usize; TWO],
        strides: [usize; TWO],
    }

    let local = Local { data: Arc::new([0; 4]), shape: [2, 2], strides: [1, 2] };
    assert_eq!(local.to_dlpack().unwrap().strides(), [1, 2]);
}

#[::std::prelude::v1::test]
fn imports_among_shadows() {
    use ::std::{assert, assert_eq, matches, vec};
    use ::tensors::{DLPackExport, DLPackImport};
    let given = || {
        let image = ::dlpack_tests::counted::Owner::new(vec![0_u8; 2], &[1, 1, 2, 1]);
        image.into_dlpack().unwrap().import().unwrap()
    };
    let image = shadowed::Given::from_dlpack(given()).unwrap();
    assert_eq!((image.rows, image.r#type, image.tensor), (1, 2, 2));
    assert_eq!(image.into_dlpack().unwrap().shape(), [1, 1, 2, 1]);
    assert_eq!(shadowed::Made::from_dlpack(given()).unwrap().r#move, [1, 1, 2, 1]);
    let source = shadowed::Source::from_dlpack(given()).unwrap();
    assert!(matches!(&source, shadowed::Source::Want(_)));
    assert!(!matches!(source, shadowed::Source::None | shadowed::Source::Parts { variant: 1, .. }));
}
