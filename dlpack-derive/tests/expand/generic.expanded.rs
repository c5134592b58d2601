pub(crate) struct Batch<'a, T, S: AsDims, const N: usize>
where
    T: Element,
{
    pub(crate) data: &'a [T],
    pub(crate) strides: S,
}
const _: () = {
    use ::tensors::__private as __dlpack;
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
        type Fields<'__dlpack> = (&'__dlpack S,) where Self: '__dlpack;
        #[inline]
        fn layout<'__dlpack>(
            (strides,): Self::Fields<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Layout<'__dlpack>, __dlpack::Error>
        where
            Self: '__dlpack,
        {
            __dlpack::strided(
                __dlpack::constants(const {
                    &[
                        2,
                        __dlpack::dim(__dlpack::integer(Self::WIDTH) as _),
                        __dlpack::dim(__dlpack::integer(N) as _),
                    ]
                }),
                __dlpack::strides::<S>(strides),
            )
        }
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
            __dlpack::tensor::<__Roles, Self>(&self.data, (&self.strides,))
        }
        #[inline]
        fn lend(&mut self) -> __dlpack::Result<__dlpack::Lend<'_>, __dlpack::Error> {
            __dlpack::lend::<__Roles, Self>(&mut self.data, (&self.strides,))
        }
        #[inline]
        fn hand_off(
            &self,
            consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<(), __dlpack::Error> {
            __dlpack::hand_off::<__Roles, Self>(&self.data, consumer)
        }
        #[inline]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            __dlpack::share::<__Roles, Self>(&self.data)
        }
    }
};
impl<T: Element, S: AsDims, const N: usize> Batch<'_, T, S, N> {
    const WIDTH: u16 = 3;
}
