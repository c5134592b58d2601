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
    use ::tensors::__private as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl __dlpack::Roles<__Roles> for Packet {
        type Data = Arc<[u8]>;
        type Shape = [u32; 2];
        type Strides = [i16; 2];
        type ByteOffset = usize;
        type DType = DataType;
        type Device = Device;
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
                __dlpack::LayoutFields {
                    shape: &self.extents,
                    strides: &self.steps,
                    byte_offset: &self.byte_offset,
                    dtype: &self.dtype,
                    device: &self.device,
                },
            )
        }
        #[inline]
        fn hand_off(
            &self,
            consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<(), __dlpack::Error> {
            __dlpack::hand_off::<__Roles, Self>(&self.bytes, consumer)
        }
        #[inline]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            __dlpack::share::<__Roles, Self>(&self.bytes)
        }
    }
    __dlpack::assert_owner::<Arc<[u8]>>();
    __dlpack::assert_owner::<[u32; 2]>();
    __dlpack::assert_owner::<[i16; 2]>();
    __dlpack::assert_owner::<usize>();
    __dlpack::assert_owner::<DataType>();
    __dlpack::assert_owner::<Device>();
    __dlpack::assert_owner::<&'static str>();
    __dlpack::assert_same_rank::<2, 2>();
};
