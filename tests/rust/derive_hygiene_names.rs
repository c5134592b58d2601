//! The derives compile next to items with the names that expansions use.

#![forbid(unsafe_code)]
#![expect(dead_code, reason = "the items are obstacles")]
#![expect(non_camel_case_types, non_upper_case_globals, reason = "the names are the test")]

use tensors::{DLPackExport, DataType, Element, Error};

/// Items that an expansion defines in its block.
mod items {
    use tensors::{DLPackExport, DataType, Element, Error, Storage};

    #[derive(Clone, Copy, Element)]
    #[dlpack(crate = ::tensors)]
    #[repr(transparent)]
    pub(crate) struct __Here(pub(crate) f32);

    #[derive(Storage)]
    #[dlpack(crate = ::tensors)]
    pub(crate) enum __Roles {
        __dlpack(Vec<__Here>),
    }

    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors, shape(2))]
    pub(crate) struct __SHAPE {
        pub(crate) data: __Roles,
    }

    #[derive(Clone, Copy, DataType)]
    #[dlpack(crate = ::tensors)]
    pub(crate) enum __dlpack {
        F32,
        #[dlpack(skip)]
        __Here,
    }

    pub(crate) fn skipped() -> Result<DataType, Error> {
        DataType::try_from(__dlpack::__Here)
    }
}

/// Parameters with these names.
mod parameters {
    use tensors::{DLPackExport, Element, Storage};

    #[derive(Clone, Copy, Element)]
    #[dlpack(crate = ::tensors)]
    #[repr(transparent)]
    pub(crate) struct Number<__dlpack>(__dlpack);

    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors)]
    pub(crate) struct View<'__dlpack, __Roles: Storage> {
        data: __Roles,
        shape: &'__dlpack [usize],
    }
}

/// Values that a pattern of the same name would match, instead of being a variable.
mod values {
    use tensors::{
        AsLayout, DLPackExport, DLPackImport, DataType, Element, FromLayout, ImportedStorage,
        Order, Storage,
    };

    pub(crate) struct see;
    pub(crate) struct tensor;
    pub(crate) struct room;
    pub(crate) struct layout;
    pub(crate) struct shape;
    pub(crate) struct data;
    pub(crate) struct inner;
    pub(crate) struct dtype;
    pub(crate) struct copied;
    pub(crate) struct parts;
    pub(crate) struct strides;
    pub(crate) struct field_data;
    pub(crate) const consumer: u8 = 1;
    pub(crate) const this: u8 = 1;
    pub(crate) static field_shape: u8 = 1;

    #[derive(Clone, Copy, Element)]
    #[dlpack(crate = ::tensors)]
    #[repr(transparent)]
    pub(crate) struct Number(f32);

    #[derive(Clone, Copy, DataType)]
    #[dlpack(crate = ::tensors)]
    pub(crate) enum Kind {
        F32,
        F64,
    }

    #[derive(Storage)]
    #[dlpack(crate = ::tensors)]
    pub(crate) enum Buffer {
        F32(Vec<f32>),
        #[dlpack(import)]
        F64(ImportedStorage<f64>),
        #[dlpack(skip)]
        Text(String),
    }

    #[derive(AsLayout, FromLayout)]
    #[dlpack(crate = ::tensors)]
    pub(crate) struct Strided {
        shape: Vec<usize>,
        strides: Vec<isize>,
        byte_offset: usize,
    }

    #[derive(DLPackExport, DLPackImport)]
    #[dlpack(crate = ::tensors)]
    pub(crate) struct WithLayout {
        data: ImportedStorage<f32>,
        #[dlpack(layout)]
        lies: Strided,
    }

    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors)]
    pub(crate) struct Ordered {
        data: Buffer,
        shape: [usize; 2],
        #[dlpack(order)]
        order: Order,
        #[dlpack(dtype)]
        kind: Kind,
    }

    #[derive(DLPackExport, DLPackImport)]
    #[dlpack(crate = ::tensors, construct = Copied::new)]
    pub(crate) struct Copied {
        #[dlpack(copy)]
        data: Vec<f32>,
        shape: [usize; 2],
    }

    impl Copied {
        #[expect(clippy::unnecessary_wraps, reason = "a constructor returns a `Result`")]
        fn new(elements: Vec<f32>, extents: [usize; 2]) -> Result<Self, tensors::Error> {
            Ok(Self { data: elements, shape: extents })
        }
    }

    #[derive(DLPackExport, DLPackImport)]
    #[dlpack(crate = ::tensors, transparent)]
    pub(crate) struct Newtype(Copied);

    #[derive(DLPackExport, DLPackImport)]
    #[dlpack(crate = ::tensors)]
    pub(crate) enum Any {
        Copied(Newtype),
        WithLayout(WithLayout),
    }
}

#[test]
fn expansions_do_not_collide_with_user_names() -> Result<(), Error> {
    let numbers = items::__Roles::__dlpack(vec![items::__Here(1.0), items::__Here(2.0)]);
    let tensor = items::__SHAPE { data: numbers }.into_dlpack()?;
    assert_eq!((tensor.shape(), tensor.dtype()), (&[2][..], DataType::F32));
    assert_eq!(items::skipped(), Err(Error::NoDType { variant: "__Here" }));
    assert_eq!(parameters::Number::<u8>::DTYPE, DataType::U8);
    assert_eq!(values::Number::DTYPE, DataType::F32);
    Ok(())
}
