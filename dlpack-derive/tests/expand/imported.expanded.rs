/// Held without a copy, with a look at it.
#[derive(Debug)]
pub(crate) struct Frame<T: Readable> {
    pub(crate) pixels: ImportedStorage<T>,
    pub(crate) shape: Vec<u32>,
    pub(crate) strides: Vec<i32>,
    pub(crate) start: usize,
    pub(crate) name: String,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate::import as __dlpack;
    #[automatically_derived]
    impl<T: Readable> __dlpack::DLPackImport for Frame<T>
    where
        ImportedStorage<T>: __dlpack::ImportStorage,
    {
        #[doc(hidden)]
        fn accepts(
            __tensor: &__dlpack::ImportedTensor,
        ) -> __dlpack::Result<(), __dlpack::ImportError> {
            let __parts = match __dlpack::begin(
                __tensor,
                "Frame",
                __dlpack::held::<ImportedStorage<T>>().in_place(__tensor),
                &[
                    __dlpack::Requirement::Device(&["cpu"]),
                    __dlpack::Requirement::DType(
                        &[__dlpack::DataType::U8, __dlpack::DataType::I8],
                    ),
                    __dlpack::Requirement::Rank(&[2, 3]),
                    __dlpack::Requirement::Contiguous(__dlpack::ROW_MAJOR),
                    __dlpack::held::<ImportedStorage<T>>().want,
                    __dlpack::Requirement::Filled(__dlpack::shape::<Vec<u32>>().capacity),
                ],
            ) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            let _ = match (__dlpack::shape::<Vec<u32>>().make)(&__parts) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            let _ = match __dlpack::strides::<
                Vec<i32>,
            >(&__parts, __dlpack::Room::Filled) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            let _ = match __dlpack::offset::<usize>(&__parts) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            __dlpack::Ok(())
        }
        #[doc(hidden)]
        fn from_dlpack(
            __tensor: __dlpack::ImportedTensor,
        ) -> __dlpack::Result<Self, __dlpack::ImportError> {
            let __parts = match __dlpack::begin(
                &__tensor,
                "Frame",
                __dlpack::held::<ImportedStorage<T>>().in_place(&__tensor),
                &[
                    __dlpack::Requirement::Device(&["cpu"]),
                    __dlpack::Requirement::DType(
                        &[__dlpack::DataType::U8, __dlpack::DataType::I8],
                    ),
                    __dlpack::Requirement::Rank(&[2, 3]),
                    __dlpack::Requirement::Contiguous(__dlpack::ROW_MAJOR),
                    __dlpack::held::<ImportedStorage<T>>().want,
                    __dlpack::Requirement::Filled(__dlpack::shape::<Vec<u32>>().capacity),
                ],
            ) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            __dlpack::validated(
                __dlpack::Ok(Self {
                    shape: match (__dlpack::shape::<Vec<u32>>().make)(&__parts) {
                        __dlpack::Ok(__value) => __value,
                        __dlpack::Err(__error) => return __dlpack::Err(__error),
                    },
                    strides: match __dlpack::strides::<
                        Vec<i32>,
                    >(&__parts, __dlpack::Room::Filled) {
                        __dlpack::Ok(__value) => __value,
                        __dlpack::Err(__error) => return __dlpack::Err(__error),
                    },
                    start: match __dlpack::offset::<usize>(&__parts) {
                        __dlpack::Ok(__value) => __value,
                        __dlpack::Err(__error) => return __dlpack::Err(__error),
                    },
                    pixels: match (__dlpack::held::<ImportedStorage<T>>()
                        .make)(__parts.place, __tensor)
                    {
                        __dlpack::Ok(__value) => __value,
                        __dlpack::Err(__error) => return __dlpack::Err(__error),
                    },
                    name: <String as __dlpack::Default>::default(),
                }),
                Self::check,
            )
        }
    }
};
/// A copy, made by a function.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) sum: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) rows: usize,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate::import as __dlpack;
    #[automatically_derived]
    impl __dlpack::DLPackImport for Table {
        const COPIES: __dlpack::Copies = __dlpack::Copies::Always;
        #[doc(hidden)]
        fn accepts(
            __tensor: &__dlpack::ImportedTensor,
        ) -> __dlpack::Result<(), __dlpack::ImportError> {
            let __parts = match __dlpack::begin(
                __tensor,
                "Table",
                __dlpack::copied_as::<Vec<u8>>()
                    .place(__tensor, __dlpack::Order::RowMajor),
                &[
                    __dlpack::copied_as::<Vec<u8>>().want,
                    __dlpack::Requirement::DType(&[__dlpack::DataType::F32]),
                    __dlpack::Requirement::Packed(__dlpack::Order::RowMajor),
                    __dlpack::Requirement::Rank(&[2]),
                    __dlpack::Requirement::Dimension(1, __dlpack::Option::Some(3)),
                ],
            ) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            let _ = match __dlpack::extent::<usize>(&__parts, 0) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            __dlpack::Ok(())
        }
        #[doc(hidden)]
        fn from_dlpack(
            __tensor: __dlpack::ImportedTensor,
        ) -> __dlpack::Result<Self, __dlpack::ImportError> {
            let __parts = match __dlpack::begin(
                &__tensor,
                "Table",
                __dlpack::copied_as::<Vec<u8>>()
                    .place(&__tensor, __dlpack::Order::RowMajor),
                &[
                    __dlpack::copied_as::<Vec<u8>>().want,
                    __dlpack::Requirement::DType(&[__dlpack::DataType::F32]),
                    __dlpack::Requirement::Packed(__dlpack::Order::RowMajor),
                    __dlpack::Requirement::Rank(&[2]),
                    __dlpack::Requirement::Dimension(1, __dlpack::Option::Some(3)),
                ],
            ) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            let __field_rows = match __dlpack::extent::<usize>(&__parts, 0) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            let __field_bytes = match (__dlpack::copied_as::<Vec<u8>>()
                .make)(__parts.place, __tensor)
            {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            __dlpack::constructed(Table::new(__field_bytes, __field_rows))
        }
    }
};
/// The first that fits.
#[derive(Debug)]
pub(crate) enum Source {
    Frame(Frame<u8>),
    Table { inner: Table, name: String },
    Text,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate::import as __dlpack;
    #[automatically_derived]
    impl __dlpack::DLPackImport for Source {
        const COPIES: __dlpack::Copies = __dlpack::copies_of_variants(
            &[
                <Frame<u8> as __dlpack::DLPackImport>::COPIES,
                <Table as __dlpack::DLPackImport>::COPIES,
            ],
        );
        #[doc(hidden)]
        fn copies(__tensor: &__dlpack::ImportedTensor) -> __dlpack::bool {
            __dlpack::copies_of_one(
                __tensor,
                &[
                    (
                        <Frame<u8> as __dlpack::DLPackImport>::accepts,
                        <Frame<u8> as __dlpack::DLPackImport>::copies,
                    ),
                    (
                        <Table as __dlpack::DLPackImport>::accepts,
                        <Table as __dlpack::DLPackImport>::copies,
                    ),
                ],
            )
        }
        #[doc(hidden)]
        fn accepts(
            __tensor: &__dlpack::ImportedTensor,
        ) -> __dlpack::Result<(), __dlpack::ImportError> {
            __dlpack::variant(
                    __tensor,
                    "Source",
                    &[
                        ("Frame", <Frame<u8> as __dlpack::DLPackImport>::accepts),
                        ("Table", <Table as __dlpack::DLPackImport>::accepts),
                    ],
                )
                .map(|_| ())
        }
        #[doc(hidden)]
        fn from_dlpack(
            __tensor: __dlpack::ImportedTensor,
        ) -> __dlpack::Result<Self, __dlpack::ImportError> {
            __dlpack::Ok(
                match match __dlpack::variant(
                    &__tensor,
                    "Source",
                    &[
                        ("Frame", <Frame<u8> as __dlpack::DLPackImport>::accepts),
                        ("Table", <Table as __dlpack::DLPackImport>::accepts),
                    ],
                ) {
                    __dlpack::Ok(__value) => __value,
                    __dlpack::Err(__error) => return __dlpack::Err(__error),
                } {
                    0 => {
                        Self::Frame(
                            match <Frame<
                                u8,
                            > as __dlpack::DLPackImport>::from_dlpack(__tensor) {
                                __dlpack::Ok(__value) => __value,
                                __dlpack::Err(__error) => return __dlpack::Err(__error),
                            },
                        )
                    }
                    _ => {
                        Self::Table {
                            inner: match <Table as __dlpack::DLPackImport>::from_dlpack(
                                __tensor,
                            ) {
                                __dlpack::Ok(__value) => __value,
                                __dlpack::Err(__error) => return __dlpack::Err(__error),
                            },
                            name: <String as __dlpack::Default>::default(),
                        }
                    }
                },
            )
        }
    }
};
