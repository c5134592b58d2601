pub(crate) struct Pointer {
    pub(crate) pixels: *const f32,
    pub(crate) size: usize,
    pub(crate) file: Arc<[f32]>,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0 as __dlpack;
    enum __Roles {}
    const __SHAPE: [__dlpack::i64; 1] = [2];
    #[automatically_derived]
    impl __dlpack::Tensor<__Roles> for Pointer {
        type Data = __dlpack::NoStorage;
    }
    #[automatically_derived]
    impl __dlpack::DLPackExport for Pointer {
        #[inline(always)]
        fn describe<'__dlpack>(
            &'__dlpack self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
            let __len = __dlpack::integer(self.size);
            let __device = __dlpack::Device::CPU;
            let __data = unsafe {
                __dlpack::raw::<*const f32, _, false>(&self.pixels, __len, __device)
            };
            __dlpack::raw_data(__out, __dlpack::constants(&__SHAPE), __data)
        }
    }
};
