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
    impl __dlpack::Tensor<__Roles> for Packet {
        type Data = Arc<[u8]>;
        type Fields<'__dlpack> = (
            &'__dlpack [u32; 2],
            &'__dlpack [i16; 2],
            &'__dlpack usize,
            &'__dlpack DataType,
            &'__dlpack Device,
        )
        where
            Self: '__dlpack;
        #[inline]
        fn layout<'__dlpack>(
            (shape, strides, offset, dtype, device): Self::Fields<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Layout<'__dlpack>, __dlpack::Error>
        where
            Self: '__dlpack,
        {
            let layout = __dlpack::strided(
                __dlpack::shape::<[u32; 2]>(shape),
                __dlpack::strides::<[i16; 2]>(strides),
            );
            let layout = __dlpack::byte_offset::<usize>(layout, offset);
            let layout = __dlpack::dtype::<DataType>(layout, dtype);
            __dlpack::device::<Device>(layout, device)
        }
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
                (
                    &self.extents,
                    &self.steps,
                    &self.byte_offset,
                    &self.dtype,
                    &self.device,
                ),
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
    __dlpack::assert_owner::<DataType>();
    __dlpack::assert_owner::<Device>();
    __dlpack::assert_owner::<&'static str>();
};
