pub(crate) struct Frame<P: Pixel> {
    pub(crate) data: Vec<u8>,
    pub(crate) height: u32,
    pub(crate) pitch: usize,
    pub(crate) start: usize,
    pub(crate) nbytes: u64,
    pub(crate) event: P,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl<P: Pixel> __dlpack::Tensor<__Roles> for Frame<P>
    where
        P: __dlpack::Synchronize,
    {
        type Data = Vec<u8>;
    }
    #[automatically_derived]
    impl<P: Pixel> __dlpack::DLPackExport for Frame<P>
    where
        P: __dlpack::Synchronize,
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
            >(
                __out,
                {
                    let __layout = __dlpack::extents([
                        __dlpack::number::<u32>(&self.height),
                        __dlpack::number(&__dlpack::integer(self::WIDTH)),
                        __dlpack::number(&__dlpack::integer(P::CHANNELS)),
                    ]);
                    let __layout = __dlpack::order(
                        __layout,
                        &__dlpack::Order::ColumnMajor,
                    );
                    let __layout = __dlpack::byte_pitch::<usize>(__layout, &self.pitch);
                    let __layout = __dlpack::offset::<usize>(__layout, &self.start);
                    let __layout = __dlpack::byte_len::<u64>(__layout, &self.nbytes);
                    let __layout = __dlpack::dtype(__layout, &__dlpack::DataType::BF16);
                    __layout.padded()
                },
                &self.data,
            )
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
            >(
                __out,
                {
                    let __layout = __dlpack::extents([
                        __dlpack::number::<u32>(&self.height),
                        __dlpack::number(&__dlpack::integer(self::WIDTH)),
                        __dlpack::number(&__dlpack::integer(P::CHANNELS)),
                    ]);
                    let __layout = __dlpack::order(
                        __layout,
                        &__dlpack::Order::ColumnMajor,
                    );
                    let __layout = __dlpack::byte_pitch::<usize>(__layout, &self.pitch);
                    let __layout = __dlpack::offset::<usize>(__layout, &self.start);
                    let __layout = __dlpack::byte_len::<u64>(__layout, &self.nbytes);
                    let __layout = __dlpack::dtype(__layout, &__dlpack::DataType::BF16);
                    __layout.padded()
                },
                &mut self.data,
            )
        }
        #[inline(always)]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            __dlpack::storage::<__Roles, Self>(&self.data)
        }
        #[doc(hidden)]
        #[inline]
        fn sync_for(
            &self,
            __consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<(), __dlpack::Error> {
            <P as __dlpack::Synchronize>::sync_for(&self.event, __consumer)
        }
    }
};
