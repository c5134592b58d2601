pub(crate) struct Image {
    pub(crate) data: Foreign<u8>,
    pub(crate) shape: [usize; 3],
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0 as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl __dlpack::Tensor<__Roles> for Image {
        type Data = Foreign<u8>;
    }
    #[automatically_derived]
    impl __dlpack::DLPackExport for Image {
        #[inline]
        fn tensor(&self) -> __dlpack::Result<__dlpack::TensorView<'_>, __dlpack::Error> {
            __dlpack::compact_tensor::<
                __Roles,
                Self,
            >(
                &self.data,
                __dlpack::row_major(__dlpack::shape::<[usize; 3], _>((), &self.shape)),
            )
        }
        #[inline]
        fn lend(&mut self) -> __dlpack::Result<__dlpack::Lend<'_>, __dlpack::Error> {
            __dlpack::lend::<
                __Roles,
                Self,
            >(
                &mut self.data,
                __dlpack::row_major(__dlpack::shape::<[usize; 3], _>((), &self.shape)),
            )
        }
        #[inline]
        fn share_dlpack(
            &self,
            __consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<__dlpack::ManagedTensor, __dlpack::Error> {
            __dlpack::share_dlpack::<__Roles, Self>(self, &self.data, __consumer)
        }
        #[inline]
        fn stored_shape(&self) -> __dlpack::Option<&[__dlpack::i64]> {
            __dlpack::stored(__dlpack::shape::<[usize; 3], _>((), &self.shape))
        }
        #[inline]
        fn tensor_rarely(
            &self,
        ) -> __dlpack::Result<__dlpack::TensorView<'_>, __dlpack::Error> {
            __dlpack::tensor::<
                __Roles,
                Self,
            >(
                &self.data,
                __dlpack::row_major(__dlpack::shape::<[usize; 3], _>((), &self.shape)),
            )
        }
        #[inline]
        fn tensor_in<'__dlpack>(
            &'__dlpack self,
            __room: __dlpack::Room<'__dlpack>,
        ) -> __dlpack::Option<__dlpack::Plain<'__dlpack>> {
            __dlpack::tensor_in::<
                __Roles,
                Self,
            >(&self.data, __dlpack::shape::<[usize; 3], _>(__room, &self.shape))
        }
        #[inline]
        fn lend_in<'__dlpack>(
            &'__dlpack mut self,
            __room: __dlpack::Room<'__dlpack>,
        ) -> __dlpack::Option<__dlpack::Plain<'__dlpack>> {
            __dlpack::lend_in::<
                __Roles,
                Self,
            >(&mut self.data, __dlpack::shape::<[usize; 3], _>(__room, &self.shape))
        }
        #[inline]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            __dlpack::storage::<__Roles, Self>(&self.data)
        }
    }
    __dlpack::assert_owner::<Foreign<u8>>();
};
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0::import as __dlpack;
    #[automatically_derived]
    impl __dlpack::DLPackImport for Image {
        fn accepts(
            __tensor: &__dlpack::Imported,
        ) -> __dlpack::Result<(), __dlpack::ImportError> {
            __dlpack::accepts(
                __tensor,
                "Image",
                &[
                    __dlpack::held::<Foreign<u8>>().want,
                    __dlpack::Want::Filled(__dlpack::shape::<[usize; 3]>().capacity),
                    __dlpack::Want::Compact(__dlpack::ROW_MAJOR),
                    __dlpack::Want::NoOffset,
                ],
            )
        }
        fn from_dlpack(
            __tensor: __dlpack::Imported,
        ) -> __dlpack::Result<Self, __dlpack::ImportError> {
            let __parts = __dlpack::begin::<Self>(&__tensor, "Image", __dlpack::HELD)?;
            __dlpack::Result::Ok(Self {
                shape: (__dlpack::shape::<[usize; 3]>().make)(&__parts)?,
                data: (__dlpack::held::<Foreign<u8>>().make)(__parts.place, __tensor)?,
            })
        }
    }
};
