pub(crate) struct Batch<'a, T, S: AsDims, const N: usize>
where
    T: Element,
{
    pub(crate) data: &'a [T],
    pub(crate) strides: S,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl<'a, T, S: AsDims, const N: usize> __dlpack::Tensor<__Roles>
    for Batch<'a, T, S, N>
    where
        T: Element,
        &'a [T]: __dlpack::Storage,
        S: __dlpack::AsDims,
    {
        type Data = &'a [T];
    }
    #[automatically_derived]
    impl<'a, T, S: AsDims, const N: usize> __dlpack::DLPackExport for Batch<'a, T, S, N>
    where
        T: Element,
        &'a [T]: __dlpack::Storage,
        S: __dlpack::AsDims,
    {
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
                    let __layout = __dlpack::Layout::new(const {
                        &[
                            2,
                            __dlpack::dim(__dlpack::integer(Self::WIDTH) as _),
                            __dlpack::dim(__dlpack::integer(N) as _),
                        ]
                    });
                    __dlpack::strides::<S>(__layout, &self.strides)
                },
                &self.data,
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
                    let __layout = __dlpack::Layout::new(const {
                        &[
                            2,
                            __dlpack::dim(__dlpack::integer(Self::WIDTH) as _),
                            __dlpack::dim(__dlpack::integer(N) as _),
                        ]
                    });
                    __dlpack::strides::<S>(__layout, &self.strides)
                },
                &mut self.data,
            )
        }
        #[inline(always)]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            __dlpack::storage::<__Roles, Self>(&self.data)
        }
    }
};
impl<T: Element, S: AsDims, const N: usize> Batch<'_, T, S, N> {
    const WIDTH: u16 = 3;
}
