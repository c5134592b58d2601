pub(crate) struct Frame<P: Pixel> {
    pub(crate) data: Vec<u8>,
    pub(crate) height: u32,
    pub(crate) pitch: usize,
    pub(crate) start: usize,
    pub(crate) nbytes: u64,
    pub(crate) event: P,
}
const _: () = {
    use ::tensors::__private as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl<P: Pixel> __dlpack::Tensor<__Roles> for Frame<P>
    where
        P: __dlpack::SyncField,
    {
        type Data = Vec<u8>;
        type Fields<'__dlpack> = (
            &'__dlpack u32,
            &'__dlpack usize,
            &'__dlpack usize,
            &'__dlpack u64,
        )
        where
            Self: '__dlpack;
        #[inline]
        fn layout<'__dlpack>(
            (dim_0, pitch, offset, len): Self::Fields<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Layout<'__dlpack>, __dlpack::Error>
        where
            Self: '__dlpack,
        {
            let layout = __dlpack::column_major(
                __dlpack::extents([
                    __dlpack::extent::<u32>(dim_0),
                    __dlpack::extent(&__dlpack::integer(self::WIDTH)),
                    __dlpack::extent(&__dlpack::integer(P::CHANNELS)),
                ]),
            );
            let layout = __dlpack::byte_pitch::<usize>(layout, pitch);
            let layout = __dlpack::offset::<usize>(layout, offset);
            let layout = __dlpack::byte_len::<u64>(layout, len);
            let layout = __dlpack::dtype(layout, &__dlpack::DataType::BF16);
            __dlpack::padded(layout)
        }
    }
    #[automatically_derived]
    impl<P: Pixel> __dlpack::DLPackExport for Frame<P>
    where
        P: __dlpack::SyncField,
    {
        #[inline]
        fn tensor(&self) -> __dlpack::Result<__dlpack::TensorView<'_>, __dlpack::Error> {
            __dlpack::tensor::<
                __Roles,
                Self,
            >(&self.data, (&self.height, &self.pitch, &self.start, &self.nbytes))
        }
        #[inline]
        fn lend(&mut self) -> __dlpack::Result<__dlpack::Lend<'_>, __dlpack::Error> {
            __dlpack::lend::<
                __Roles,
                Self,
            >(&mut self.data, (&self.height, &self.pitch, &self.start, &self.nbytes))
        }
        #[inline]
        fn hand_off(
            &self,
            consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<(), __dlpack::Error> {
            __dlpack::wait::<P>(&self.event, consumer)?;
            __dlpack::hand_off::<__Roles, Self>(&self.data, consumer)
        }
        #[inline]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            __dlpack::share::<__Roles, Self>(&self.data)
        }
    }
};
