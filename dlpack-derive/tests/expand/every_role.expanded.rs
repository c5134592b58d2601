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
    use ::tensors::__private::dlpack_derive_0_1_0 as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl __dlpack::Tensor<__Roles> for Packet {
        type Data = Arc<[u8]>;
    }
    #[automatically_derived]
    impl __dlpack::DLPackExport for Packet {
        #[inline]
        fn tensor(&self) -> __dlpack::Result<__dlpack::TensorView<'_>, __dlpack::Error> {
            __dlpack::read_only_tensor::<
                __Roles,
                Self,
            >(
                &self.bytes,
                {
                    let __layout = __dlpack::strided(
                        __dlpack::shape::<[u32; 2], _>((), &self.extents),
                        __dlpack::strides::<[i16; 2]>(&self.steps),
                    );
                    let __layout = __dlpack::byte_offset::<
                        usize,
                    >(__layout, &self.byte_offset);
                    let __layout = __dlpack::dtype::<DataType>(__layout, &self.dtype);
                    __dlpack::device::<Device>(__layout, &self.device)
                },
            )
        }
        #[inline]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            __dlpack::storage::<__Roles, Self>(&self.bytes)
        }
    }
    __dlpack::assert_dropped::<DataType>();
    __dlpack::assert_dropped::<Device>();
    __dlpack::assert_dropped::<&'static str>();
};
