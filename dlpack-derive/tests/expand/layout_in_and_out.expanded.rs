pub(crate) struct Strided {
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    pub(crate) byte_offset: usize,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    #[automatically_derived]
    impl __dlpack::AsLayout for Strided {
        #[inline(always)]
        fn layout(&self) -> __dlpack::Layout<'_> {
            let __layout = __dlpack::shape::<Vec<usize>>(&self.shape);
            let __layout = __dlpack::strides::<Vec<isize>>(__layout, &self.strides);
            __dlpack::byte_offset::<usize>(__layout, &self.byte_offset)
        }
    }
};
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate::import as __dlpack;
    #[automatically_derived]
    impl __dlpack::FromLayout for Strided {
        const ORDER: __dlpack::Order = __dlpack::Order::RowMajor;
        fn accepts(
            __tensor: &__dlpack::ImportedTensor,
            __shape: &[__dlpack::i64],
            __copied: __dlpack::bool,
        ) -> __dlpack::Result<(), __dlpack::MismatchKind> {
            __dlpack::meets(
                __tensor,
                __shape,
                __copied,
                &[
                    __dlpack::Requirement::Filled(
                        __dlpack::shape::<Vec<usize>>().capacity,
                    ),
                ],
            )
        }
        fn from_layout(
            __tensor: &__dlpack::Accepted<'_>,
        ) -> __dlpack::Result<Self, __dlpack::ImportError> {
            __dlpack::Ok(Self {
                shape: match (__dlpack::shape::<Vec<usize>>().make)(__tensor) {
                    __dlpack::Ok(__value) => __value,
                    __dlpack::Err(__error) => return __dlpack::Err(__error),
                },
                strides: match __dlpack::strides::<
                    Vec<isize>,
                >(__tensor, __dlpack::Room::Filled) {
                    __dlpack::Ok(__value) => __value,
                    __dlpack::Err(__error) => return __dlpack::Err(__error),
                },
                byte_offset: match __dlpack::byte_offset::<usize>(__tensor) {
                    __dlpack::Ok(__value) => __value,
                    __dlpack::Err(__error) => return __dlpack::Err(__error),
                },
            })
        }
    }
};
pub(crate) enum Buffer {
    Own(Vec<f32>),
    Foreign(ImportedStorage<f32>),
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate::parts as __dlpack;
    #[automatically_derived]
    impl __dlpack::ImportStorage for Buffer {
        fn accepts(
            __tensor: &__dlpack::ImportedTensor,
        ) -> __dlpack::Result<(), __dlpack::MismatchKind> {
            __dlpack::any_holds(
                __tensor,
                &[<ImportedStorage<f32> as __dlpack::ImportStorage>::accepts],
            )
        }
        fn axes(__tensor: &__dlpack::ImportedTensor) -> &'static [__dlpack::i64] {
            __dlpack::axes_of_one(
                __tensor,
                &[
                    (
                        <ImportedStorage<f32> as __dlpack::ImportStorage>::accepts,
                        <ImportedStorage<f32> as __dlpack::ImportStorage>::axes,
                    ),
                ],
            )
        }
        fn keeps_strides(__tensor: &__dlpack::ImportedTensor) -> __dlpack::bool {
            __dlpack::one_keeps_strides(
                __tensor,
                &[
                    (
                        <ImportedStorage<f32> as __dlpack::ImportStorage>::accepts,
                        <ImportedStorage<f32> as __dlpack::ImportStorage>::keeps_strides,
                    ),
                ],
            )
        }
        fn from_imported(
            __tensor: __dlpack::ImportedTensor,
        ) -> __dlpack::Result<Self, __dlpack::Error> {
            __dlpack::Result::Ok(
                Self::Foreign(
                    <ImportedStorage<
                        f32,
                    > as __dlpack::ImportStorage>::from_imported(__tensor)?,
                ),
            )
        }
    }
    #[automatically_derived]
    impl __dlpack::Storage for Buffer {
        #[inline(always)]
        fn data(&self) -> __dlpack::DataRef<'_> {
            match self {
                Self::Own { 0: __data, .. } => {
                    <Vec<f32> as __dlpack::Storage>::data(__data)
                }
                Self::Foreign { 0: __data, .. } => {
                    <ImportedStorage<f32> as __dlpack::Storage>::data(__data)
                }
            }
        }
        #[inline(always)]
        fn data_mut(&mut self) -> __dlpack::DataMut<'_> {
            match self {
                Self::Own { 0: __data, .. } => {
                    <Vec<f32> as __dlpack::Storage>::data_mut(__data)
                }
                Self::Foreign { 0: __data, .. } => {
                    <ImportedStorage<f32> as __dlpack::Storage>::data_mut(__data)
                }
            }
        }
        #[inline(always)]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            use __dlpack::sharing::*;
            __dlpack::share_one_of(
                match self {
                    Self::Own { 0: __data, .. } => {
                        match __dlpack::sharer(__data).__dlpack_share() {
                            __dlpack::Option::Some(__owner) => __dlpack::first(__owner),
                            __dlpack::Option::None => {
                                return <Vec<f32> as __dlpack::Storage>::share(__data);
                            }
                        }
                    }
                    Self::Foreign { 0: __data, .. } => {
                        match __dlpack::sharer(__data).__dlpack_share() {
                            __dlpack::Option::Some(__owner) => {
                                __dlpack::rest(__dlpack::last(__owner))
                            }
                            __dlpack::Option::None => {
                                return <ImportedStorage<
                                    f32,
                                > as __dlpack::Storage>::share(__data);
                            }
                        }
                    }
                },
            )
        }
        #[inline]
        fn record_type(&self) -> __dlpack::Option<&'static __dlpack::RecordType> {
            match self {
                Self::Own { 0: __data, .. } => {
                    <Vec<f32> as __dlpack::Storage>::record_type(__data)
                }
                Self::Foreign { 0: __data, .. } => {
                    <ImportedStorage<f32> as __dlpack::Storage>::record_type(__data)
                }
            }
        }
    }
};
