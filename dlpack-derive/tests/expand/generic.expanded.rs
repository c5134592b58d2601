pub(crate) struct Batch<'a, T, S: AsDims, const N: usize>
where
    T: Element,
{
    pub(crate) data: &'a [T],
    pub(crate) strides: S,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0 as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl<'a, T, S: AsDims, const N: usize> __dlpack::Tensor<__Roles>
    for Batch<'a, T, S, N>
    where
        T: Element,
        &'a [T]: __dlpack::Storage,
        S: __dlpack::StridesField,
    {
        type Data = &'a [T];
    }
    #[automatically_derived]
    impl<'a, T, S: AsDims, const N: usize> __dlpack::DLPackExport for Batch<'a, T, S, N>
    where
        T: Element,
        &'a [T]: __dlpack::Storage,
        S: __dlpack::StridesField,
    {
        #[inline]
        fn tensor(&self) -> __dlpack::Result<__dlpack::TensorView<'_>, __dlpack::Error> {
            __dlpack::tensor::<
                __Roles,
                Self,
            >(
                &self.data,
                __dlpack::strided(
                    __dlpack::constants(const {
                        &[
                            2,
                            __dlpack::dim(__dlpack::integer(Self::WIDTH) as _),
                            __dlpack::dim(__dlpack::integer(N) as _),
                        ]
                    }),
                    __dlpack::strides::<S>(&self.strides),
                ),
            )
        }
        #[inline]
        fn lend(&mut self) -> __dlpack::Result<__dlpack::Lend<'_>, __dlpack::Error> {
            __dlpack::lend::<
                __Roles,
                Self,
            >(
                &mut self.data,
                __dlpack::strided(
                    __dlpack::constants(const {
                        &[
                            2,
                            __dlpack::dim(__dlpack::integer(Self::WIDTH) as _),
                            __dlpack::dim(__dlpack::integer(N) as _),
                        ]
                    }),
                    __dlpack::strides::<S>(&self.strides),
                ),
            )
        }
        #[inline]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            __dlpack::storage::<__Roles, Self>(&self.data)
        }
    }
};
impl<T: Element, S: AsDims, const N: usize> Batch<'_, T, S, N> {
    const WIDTH: u16 = 3;
}
