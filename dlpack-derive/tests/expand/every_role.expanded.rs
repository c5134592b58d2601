#[derive(Debug)]
pub(crate) struct Packet {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) extents: [u32; 2],
    pub(crate) steps: [i16; 2],
    pub(crate) byte_offset: usize,
    pub(crate) dtype: DataType,
    pub(crate) device: Device,
    pub(crate) name: &'static str,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl __dlpack::Tensor<__Roles> for Packet {
        type Data = Arc<[u8]>;
    }
    #[automatically_derived]
    impl __dlpack::DLPackExport for Packet {
        #[doc(hidden)]
        #[inline(always)]
        fn describe<'__dlpack>(
            &'__dlpack self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
            __dlpack::read_only(
                __dlpack::data::<
                    __Roles,
                    Self,
                >(
                    __out,
                    {
                        let __layout = __dlpack::shape::<[u32; 2]>(&self.extents);
                        let __layout = __dlpack::strides::<
                            [i16; 2],
                        >(__layout, &self.steps);
                        let __layout = __dlpack::byte_offset::<
                            usize,
                        >(__layout, &self.byte_offset);
                        let __layout = __dlpack::dtype::<
                            DataType,
                        >(__layout, &self.dtype);
                        __dlpack::device::<Device>(__layout, &self.device)
                    },
                    &self.bytes,
                ),
            )
        }
        #[inline(always)]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            __dlpack::storage::<__Roles, Self>(&self.bytes)
        }
    }
    __dlpack::assert_dropped::<DataType>();
    __dlpack::assert_dropped::<Device>();
    __dlpack::assert_dropped::<&'static str>();
};
