pub(crate) struct Image {
    pub(crate) data: Vec<u8>,
    pub(crate) shape: [usize; 3],
}
const _: () = {
    use ::tensors::__private as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl __dlpack::Roles<__Roles> for Image {
        type Data = Vec<u8>;
        type Shape = [usize; 3];
        type Strides = __dlpack::Absent;
        type ByteOffset = __dlpack::Absent;
        type DType = __dlpack::Absent;
        type Device = __dlpack::Absent;
    }
    #[automatically_derived]
    impl __dlpack::DLPackExport for Image {
        #[inline]
        fn tensor(&self) -> __dlpack::Result<__dlpack::TensorView<'_>, __dlpack::Error> {
            __dlpack::tensor::<
                __Roles,
                Self,
            >(
                &self.data,
                __dlpack::LayoutFields {
                    shape: &self.shape,
                    strides: &__dlpack::Absent,
                    byte_offset: &__dlpack::Absent,
                    dtype: &__dlpack::Absent,
                    device: &__dlpack::Absent,
                },
            )
        }
        #[inline]
        fn lend(&mut self) -> __dlpack::Result<__dlpack::Lend<'_>, __dlpack::Error> {
            __dlpack::lend::<
                __Roles,
                Self,
            >(
                &mut self.data,
                __dlpack::LayoutFields {
                    shape: &self.shape,
                    strides: &__dlpack::Absent,
                    byte_offset: &__dlpack::Absent,
                    dtype: &__dlpack::Absent,
                    device: &__dlpack::Absent,
                },
            )
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
    __dlpack::assert_owner::<Vec<u8>>();
    __dlpack::assert_owner::<[usize; 3]>();
};
