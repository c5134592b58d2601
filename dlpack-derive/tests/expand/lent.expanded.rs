pub(crate) struct Letters {
    pub(crate) text: Arc<Vec<u8>>,
    pub(crate) kind: String,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    enum __Roles {}
    use __dlpack::lending::*;
    #[automatically_derived]
    impl __dlpack::Tensor<__Roles> for Letters {
        type Data = __dlpack::NoStorage;
    }
    #[automatically_derived]
    impl __dlpack::DLPackExport for Letters {
        #[doc(hidden)]
        #[inline(always)]
        fn describe<'__dlpack>(
            &'__dlpack self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
            __dlpack::slice::<
                u8,
            >(
                __out,
                {
                    let __layout = __dlpack::extents([
                        __dlpack::number(
                            &__dlpack::integer(__dlpack::this::<Self>(self).text.len()),
                        ),
                        __dlpack::Option::Some(1),
                    ]);
                    __dlpack::dtype_with(__layout, to_dtype(&self.kind))
                },
                __dlpack::lender::<Arc<Vec<u8>>, u8>(&self.text).__dlpack_slice(),
            )
        }
        #[inline]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            __dlpack::share_slice::<
                Arc<Vec<u8>>,
                u8,
                _,
            >(
                &self.text,
                |__owner| __dlpack::lender::<Arc<Vec<u8>>, u8>(__owner).__dlpack_slice(),
            )
        }
    }
};
pub(crate) struct Row<O, T> {
    pub(crate) values: O,
    pub(crate) shape: [usize; 1],
    pub(crate) element: PhantomData<T>,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    enum __Roles {}
    use __dlpack::lending::*;
    #[automatically_derived]
    impl<O, T> __dlpack::Tensor<__Roles> for Row<O, T>
    where
        T: __dlpack::Element,
        O: __dlpack::AsRef<[T]>,
    {
        type Data = __dlpack::NoStorage;
    }
    #[automatically_derived]
    impl<O, T> __dlpack::DLPackExport for Row<O, T>
    where
        T: __dlpack::Element,
        O: __dlpack::AsRef<[T]>,
    {
        #[doc(hidden)]
        #[inline(always)]
        fn describe<'__dlpack>(
            &'__dlpack self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
            __dlpack::slice::<
                T,
            >(
                __out,
                __dlpack::shape::<[usize; 1]>(&self.shape),
                __dlpack::lender::<O, T>(&self.values).__dlpack_slice(),
            )
        }
    }
};
