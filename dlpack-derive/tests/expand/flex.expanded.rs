pub(crate) struct Flex<L>(pub(crate) Arc<[f32]>, pub(crate) L);
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl<L> __dlpack::Tensor<__Roles> for Flex<L>
    where
        L: __dlpack::AsLayout,
    {
        type Data = Arc<[f32]>;
    }
    #[automatically_derived]
    impl<L> __dlpack::DLPackExport for Flex<L>
    where
        L: __dlpack::AsLayout,
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
            >(__out, __dlpack::layout::<L>(&self.1), &self.0)
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
            >(__out, __dlpack::layout::<L>(&self.1), &mut self.0)
        }
        #[inline(always)]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            __dlpack::storage::<__Roles, Self>(&self.0)
        }
    }
};
