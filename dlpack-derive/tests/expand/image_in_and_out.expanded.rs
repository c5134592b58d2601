pub(crate) struct Image {
    pub(crate) data: ImportedStorage<u8>,
    pub(crate) shape: [usize; 3],
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl __dlpack::Tensor<__Roles> for Image {
        type Data = ImportedStorage<u8>;
    }
    #[automatically_derived]
    impl __dlpack::DLPackExport for Image {
        #[doc(hidden)]
        #[inline(always)]
        fn describe<'__dlpack>(
            &'__dlpack self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
            __dlpack::data::<
                __Roles,
                Self,
            >(__out, __dlpack::shape::<[usize; 3]>(&self.shape), &self.data)
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
            >(__out, __dlpack::shape::<[usize; 3]>(&self.shape), &mut self.data)
        }
        #[inline(always)]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            __dlpack::storage::<__Roles, Self>(&self.data)
        }
    }
    __dlpack::assert_owner::<ImportedStorage<u8>>();
};
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate::import as __dlpack;
    #[automatically_derived]
    impl __dlpack::DLPackImport for Image {
        #[doc(hidden)]
        fn accepts(
            __tensor: &__dlpack::ImportedTensor,
        ) -> __dlpack::Result<(), __dlpack::ImportError> {
            let __parts = match __dlpack::begin(
                __tensor,
                "Image",
                __dlpack::held::<ImportedStorage<u8>>().in_place(__tensor),
                &[
                    __dlpack::held::<ImportedStorage<u8>>().want,
                    __dlpack::Requirement::Filled(
                        __dlpack::shape::<[usize; 3]>().capacity,
                    ),
                    __dlpack::held::<ImportedStorage<u8>>().kept,
                ],
            ) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            let _ = match (__dlpack::shape::<[usize; 3]>().make)(&__parts) {
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
                "Image",
                __dlpack::held::<ImportedStorage<u8>>().in_place(&__tensor),
                &[
                    __dlpack::held::<ImportedStorage<u8>>().want,
                    __dlpack::Requirement::Filled(
                        __dlpack::shape::<[usize; 3]>().capacity,
                    ),
                    __dlpack::held::<ImportedStorage<u8>>().kept,
                ],
            ) {
                __dlpack::Ok(__value) => __value,
                __dlpack::Err(__error) => return __dlpack::Err(__error),
            };
            __dlpack::Ok(Self {
                shape: match (__dlpack::shape::<[usize; 3]>().make)(&__parts) {
                    __dlpack::Ok(__value) => __value,
                    __dlpack::Err(__error) => return __dlpack::Err(__error),
                },
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
