pub(crate) struct Flex<L>(pub(crate) Arc<[f32]>, pub(crate) L);
const _: () = {
    use ::tensors::__private as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl<L> __dlpack::Tensor<__Roles> for Flex<L>
    where
        L: __dlpack::LayoutField,
    {
        type Data = Arc<[f32]>;
        type Fields<'__dlpack> = (&'__dlpack L,) where Self: '__dlpack;
        #[inline]
        fn layout<'__dlpack>(
            (layout,): Self::Fields<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Layout<'__dlpack>, __dlpack::Error>
        where
            Self: '__dlpack,
        {
            __dlpack::layout::<L>(layout)
        }
    }
    #[automatically_derived]
    impl<L> __dlpack::DLPackExport for Flex<L>
    where
        L: __dlpack::LayoutField,
    {
        #[inline]
        fn tensor(&self) -> __dlpack::Result<__dlpack::TensorView<'_>, __dlpack::Error> {
            __dlpack::tensor::<__Roles, Self>(&self.0, (&self.1,))
        }
        #[inline]
        fn lend(&mut self) -> __dlpack::Result<__dlpack::Lend<'_>, __dlpack::Error> {
            __dlpack::lend::<__Roles, Self>(&mut self.0, (&self.1,))
        }
        #[inline]
        fn hand_off(
            &self,
            consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<(), __dlpack::Error> {
            __dlpack::hand_off::<__Roles, Self>(&self.0, consumer)
        }
        #[inline]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            __dlpack::share::<__Roles, Self>(&self.0)
        }
    }
};
