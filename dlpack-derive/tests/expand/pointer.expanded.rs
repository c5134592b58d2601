pub(crate) struct Pointer {
    pub(crate) pixels: *const f32,
    pub(crate) size: usize,
    pub(crate) file: Arc<[f32]>,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    enum __Roles {}
    const __SHAPE: [__dlpack::i64; 1] = [2];
    #[automatically_derived]
    impl __dlpack::Tensor<__Roles> for Pointer {
        type Data = __dlpack::NoStorage;
    }
    #[automatically_derived]
    impl __dlpack::DLPackExport for Pointer {
        #[doc(hidden)]
        #[inline(always)]
        fn describe<'__dlpack>(
            &'__dlpack self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
            let __pointed = __dlpack::pointed::<
                *const f32,
                _,
                false,
            >(self.pixels, __dlpack::integer(self.size), __dlpack::Device::CPU);
            let __data = unsafe { __dlpack::raw(__pointed) };
            __dlpack::raw_data(__out, __dlpack::Layout::new(&__SHAPE), __data)
        }
        #[inline]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            let __pointed = __dlpack::pointed::<
                *const f32,
                _,
                false,
            >(self.pixels, __dlpack::integer(self.size), __dlpack::Device::CPU);
            let __is_same = |_: &Arc<[f32]>, _: &__dlpack::Pointed| true;
            unsafe {
                __dlpack::share_raw::<Arc<[f32]>>(&self.file, __pointed, __is_same)
            }
        }
    }
};
pub(crate) struct Handle(pub(crate) Memory);
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl __dlpack::Tensor<__Roles> for Handle {
        type Data = __dlpack::NoStorage;
    }
    #[automatically_derived]
    impl __dlpack::DLPackExport for Handle {
        #[doc(hidden)]
        #[inline(always)]
        fn describe<'__dlpack>(
            &'__dlpack self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
            let __pointed = __dlpack::pointed_mut::<
                _,
                _,
                false,
            >(
                Memory::data(&self.0),
                __dlpack::integer(__dlpack::this::<Self>(self).0.len()),
                __dlpack::Device::CPU,
            );
            let __data = unsafe { __dlpack::raw(__pointed) };
            __dlpack::raw_data(
                __out,
                __dlpack::extents([
                    __dlpack::number(
                        &__dlpack::integer(__dlpack::this::<Self>(self).0.len()),
                    ),
                ]),
                __data,
            )
        }
        #[inline]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            let __pointed = __dlpack::pointed_mut::<
                _,
                _,
                false,
            >(
                Memory::data(&self.0),
                __dlpack::integer(__dlpack::this::<Self>(self).0.len()),
                __dlpack::Device::CPU,
            );
            let __is_same = |__owner: &Memory, __pointed: &__dlpack::Pointed| {
                __pointed.is_at(Memory::data(__owner))
            };
            unsafe { __dlpack::share_raw::<Memory>(&self.0, __pointed, __is_same) }
        }
    }
    __dlpack::assert_owner::<Memory>();
};
