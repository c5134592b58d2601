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
            >(
                &self.data,
                {
                    let layout = __dlpack::column_major(
                        __dlpack::extents([
                            __dlpack::extent::<u32>(&self.height),
                            __dlpack::extent(&__dlpack::integer(self::WIDTH)),
                            __dlpack::extent(&__dlpack::integer(P::CHANNELS)),
                        ]),
                    );
                    let layout = __dlpack::byte_pitch::<usize>(layout, &self.pitch);
                    let layout = __dlpack::offset::<usize>(layout, &self.start);
                    let layout = __dlpack::byte_len::<u64>(layout, &self.nbytes);
                    let layout = __dlpack::dtype(layout, &__dlpack::DataType::BF16);
                    __dlpack::padded(layout)
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
                {
                    let layout = __dlpack::column_major(
                        __dlpack::extents([
                            __dlpack::extent::<u32>(&self.height),
                            __dlpack::extent(&__dlpack::integer(self::WIDTH)),
                            __dlpack::extent(&__dlpack::integer(P::CHANNELS)),
                        ]),
                    );
                    let layout = __dlpack::byte_pitch::<usize>(layout, &self.pitch);
                    let layout = __dlpack::offset::<usize>(layout, &self.start);
                    let layout = __dlpack::byte_len::<u64>(layout, &self.nbytes);
                    let layout = __dlpack::dtype(layout, &__dlpack::DataType::BF16);
                    __dlpack::padded(layout)
                },
            )
        }
        #[inline]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            __dlpack::storage::<__Roles, Self>(&self.data)
        }
        #[inline]
        fn hand_off(
            &self,
            consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<(), __dlpack::Error> {
            __dlpack::wait::<P>(&self.event, consumer)?;
            __dlpack::hand_off::<__Roles, Self>(&self.data, consumer)
        }
    }
};
