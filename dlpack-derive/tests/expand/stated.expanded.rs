pub(crate) struct Stated(pub(crate) Tensor);
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl __dlpack::Tensor<__Roles> for Stated {
        type Data = Tensor;
    }
    #[automatically_derived]
    impl __dlpack::DLPackExport for Stated {
        #[doc(hidden)]
        #[inline(always)]
        fn describe<'__dlpack>(
            &'__dlpack self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
            __dlpack::data::<
                __Roles,
                Self,
            >(
                __out,
                {
                    let __layout = __dlpack::shape_with(
                        __dlpack::this::<Self>(self).0.dims(),
                    );
                    let __layout = __dlpack::strides_with(
                        __layout,
                        &__dlpack::this::<Self>(self).0.strides,
                    );
                    let __layout = __dlpack::offset(__layout, &__dlpack::integer(12i64));
                    let __layout = __dlpack::byte_len(
                        __layout,
                        &__dlpack::integer(__dlpack::this::<Self>(self).0.len()),
                    );
                    __dlpack::dtype_with::<
                        __dlpack::DataType,
                    >(__layout, __dlpack::this::<Self>(self).0.kind.into())
                },
                &self.0,
            )
        }
        #[doc(hidden)]
        #[inline(always)]
        fn describe_mut<'__dlpack>(
            &'__dlpack mut self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::DescriptionMut<'__dlpack>, __dlpack::Error> {
            __dlpack::data_mut::<
                __Roles,
                Self,
            >(
                __out,
                {
                    let __layout = __dlpack::shape_with(
                        __dlpack::this::<Self>(self).0.dims(),
                    );
                    let __layout = __dlpack::strides_with(
                        __layout,
                        &__dlpack::this::<Self>(self).0.strides,
                    );
                    let __layout = __dlpack::offset(__layout, &__dlpack::integer(12i64));
                    let __layout = __dlpack::byte_len(
                        __layout,
                        &__dlpack::integer(__dlpack::this::<Self>(self).0.len()),
                    );
                    __dlpack::dtype_with::<
                        __dlpack::DataType,
                    >(__layout, __dlpack::this::<Self>(self).0.kind.into())
                },
                &mut self.0,
            )
        }
        #[inline(always)]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            __dlpack::storage::<__Roles, Self>(&self.0)
        }
    }
    __dlpack::assert_owner::<Tensor>();
};
pub(crate) struct Constant {
    pub(crate) data: ImportedStorage<u8>,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate::import as __dlpack;
    #[automatically_derived]
    impl __dlpack::DLPackImport for Constant {
        #[doc(hidden)]
        fn accepts(
            __tensor: &__dlpack::ImportedTensor,
        ) -> __dlpack::Result<(), __dlpack::ImportError> {
            let __parts = match __dlpack::begin(
                __tensor,
                "Constant",
                __dlpack::held::<ImportedStorage<u8>>().in_place(__tensor),
                &[
                    __dlpack::held::<ImportedStorage<u8>>().want,
                    __dlpack::Requirement::Pitched(__dlpack::Option::Some(Self::ORDER)),
                    __dlpack::Requirement::NothingBefore,
                ],
            ) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            let () = match __dlpack::stated_shape(&__parts, &Self::SHAPE) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            let () = match __dlpack::stated_pitch(
                &__parts,
                true,
                __dlpack::Option::Some(Self::ORDER),
                __dlpack::byte_pitch(&__parts, __dlpack::Option::Some(Self::ORDER)),
                __dlpack::Option::Some(8),
            ) {
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
                "Constant",
                __dlpack::held::<ImportedStorage<u8>>().in_place(&__tensor),
                &[
                    __dlpack::held::<ImportedStorage<u8>>().want,
                    __dlpack::Requirement::Pitched(__dlpack::Option::Some(Self::ORDER)),
                    __dlpack::Requirement::NothingBefore,
                ],
            ) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            let () = match __dlpack::stated_shape(&__parts, &Self::SHAPE) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            let () = match __dlpack::stated_pitch(
                &__parts,
                true,
                __dlpack::Option::Some(Self::ORDER),
                __dlpack::byte_pitch(&__parts, __dlpack::Option::Some(Self::ORDER)),
                __dlpack::Option::Some(8),
            ) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            __dlpack::Ok(Self {
                data: match (__dlpack::held::<ImportedStorage<u8>>()
                    .make)(__parts.place, __tensor)
                {
                    __dlpack::Ok(__value) => __value,
                    __dlpack::Err(__error) => return __dlpack::Err(__error),
                },
            })
        }
    }
};
