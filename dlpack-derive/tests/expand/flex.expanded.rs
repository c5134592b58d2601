pub(crate) struct Flex<L>(pub(crate) Arc<[f32]>, pub(crate) L);
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0 as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl<L> __dlpack::Tensor<__Roles> for Flex<L>
    where
        L: __dlpack::LayoutField,
    {
        type Data = Arc<[f32]>;
    }
    #[automatically_derived]
    impl<L> __dlpack::DLPackExport for Flex<L>
    where
        L: __dlpack::LayoutField,
    {
        #[inline]
        fn tensor(&self) -> __dlpack::Result<__dlpack::TensorView<'_>, __dlpack::Error> {
            __dlpack::tensor::<__Roles, Self>(&self.0, __dlpack::layout::<L>(&self.1))
        }
        #[inline]
        fn lend(&mut self) -> __dlpack::Result<__dlpack::Lend<'_>, __dlpack::Error> {
            __dlpack::lend::<__Roles, Self>(&mut self.0, __dlpack::layout::<L>(&self.1))
        }
        #[inline]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            __dlpack::storage::<__Roles, Self>(&self.0)
        }
    }
};
