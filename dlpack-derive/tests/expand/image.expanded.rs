pub(crate) struct Image {
    pub(crate) data: Vec<u8>,
    pub(crate) shape: [usize; 3],
}
const _: () = {
    use ::tensors::__private as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl __dlpack::Tensor<__Roles> for Image {
        type Data = Vec<u8>;
        type Fields<'__dlpack> = (&'__dlpack [usize; 3],) where Self: '__dlpack;
        #[inline]
        fn layout<'__dlpack>(
            (shape,): Self::Fields<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Layout<'__dlpack>, __dlpack::Error>
        where
            Self: '__dlpack,
        {
            __dlpack::row_major(__dlpack::shape::<[usize; 3]>(shape))
        }
    }
    #[automatically_derived]
    impl __dlpack::DLPackExport for Image {
        #[inline]
        fn tensor(&self) -> __dlpack::Result<__dlpack::TensorView<'_>, __dlpack::Error> {
            __dlpack::tensor::<__Roles, Self>(&self.data, (&self.shape,))
        }
        #[inline]
        fn lend(&mut self) -> __dlpack::Result<__dlpack::Lend<'_>, __dlpack::Error> {
            __dlpack::lend::<__Roles, Self>(&mut self.data, (&self.shape,))
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
