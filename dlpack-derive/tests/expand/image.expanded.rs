pub(crate) struct Image {
    pub(crate) data: Vec<u8>,
    pub(crate) shape: [usize; 3],
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl __dlpack::Tensor<__Roles> for Image {
        type Data = Vec<u8>;
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
};
