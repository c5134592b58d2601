//! The derives compile next to items with the names that expansions use.

#![forbid(unsafe_code)]
#![expect(dead_code, reason = "the items are obstacles")]
#![expect(
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    reason = "the names are the test"
)]

use tensors::{DLPackExport, DLPackImport, DataType, Element, Error};

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

/// Names of variables of an expansion, and texts that resemble them.
mod variables {
    use tensors::{AsLayout, DLPackExport, DLPackImport, FromLayout, ImportedStorage, Storage};

    #[derive(DLPackExport, DLPackImport)]
    #[dlpack(crate = ::tensors, construct = Self::made)]
    pub(crate) struct __value<const __tensor: usize> {
        #[dlpack(data)]
        pub(crate) __error: ImportedStorage<f32>,
        #[dlpack(shape)]
        pub(crate) __parts: [usize; __tensor],
    }

    impl<const __tensor: usize> __value<__tensor> {
        #[expect(clippy::unnecessary_wraps, reason = "a constructor returns a `Result`")]
        fn made(
            data: ImportedStorage<f32>,
            shape: [usize; __tensor],
        ) -> Result<Self, tensors::Error> {
            Ok(Self { __error: data, __parts: shape })
        }
    }

    #[derive(Storage)]
    #[dlpack(crate = ::tensors)]
    pub(crate) enum __data<const __owner: usize> {
        Own {
            __data: Vec<f32>,
        },
        #[dlpack(import)]
        Foreign(ImportedStorage<f32>),
        Fixed([f32; __owner]),
    }

    #[derive(AsLayout, FromLayout)]
    #[dlpack(crate = ::tensors)]
    pub(crate) struct __shape<const __out: usize> {
        #[dlpack(shape)]
        pub(crate) __copied: [usize; __out],
    }

    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors, shape(self.len_of("rows_aside_"), self.len_of("__SHAPE")))]
    pub(crate) struct Table {
        #[dlpack(slice = f32)]
        pub(crate) data: Vec<f32>,
        #[dlpack(skip)]
        pub(crate) __SHAPE: [usize; 2],
    }

    impl Table {
        fn len_of(&self, name: &str) -> usize {
            match name {
                "rows_aside_" => self.__SHAPE[0],
                "__SHAPE" => self.__SHAPE[1],
                _ => 0,
            }
        }
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
    let table = variables::Table { data: vec![0.0; 6], __SHAPE: [2, 3] };
    let tensor = table.into_dlpack()?;
    assert_eq!(tensor.shape(), [2, 3]);
    let value = variables::__value::<2>::from_dlpack(tensor.import()?).expect("it fits");
    assert_eq!(value.into_dlpack()?.shape(), [2, 3]);
    assert_eq!(values::Number::DTYPE, DataType::F32);
    Ok(())
}
