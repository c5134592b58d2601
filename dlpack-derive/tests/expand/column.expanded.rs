pub(crate) enum Column<T> {
    Float(Samples),
    Other { tensor: T, name: &'static str },
    Text,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    #[automatically_derived]
    impl<T> __dlpack::DLPackExport for Column<T>
    where
        T: DLPackExport,
    {
        #[doc(hidden)]
        #[inline(always)]
        fn describe<'__dlpack>(
            &'__dlpack self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
            match self {
                Self::Float { 0: __inner } => {
                    <Samples as __dlpack::DLPackExport>::describe(__inner, __out)
                }
                Self::Other { tensor: __inner, .. } => {
                    <T as __dlpack::DLPackExport>::describe(__inner, __out)
                }
                Self::Text { .. } => __dlpack::skipped("Text"),
            }
        }
        #[doc(hidden)]
        #[inline(always)]
        fn describe_mut<'__dlpack>(
            &'__dlpack mut self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::DescriptionMut<'__dlpack>, __dlpack::Error> {
            match self {
                Self::Float { 0: __inner } => {
                    <Samples as __dlpack::DLPackExport>::describe_mut(__inner, __out)
                }
                Self::Other { tensor: __inner, .. } => {
                    <T as __dlpack::DLPackExport>::describe_mut(__inner, __out)
                }
                Self::Text { .. } => __dlpack::skipped("Text"),
            }
        }
        #[inline(always)]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            match self {
                Self::Float { 0: __inner } => {
                    <Samples as __dlpack::DLPackExport>::storage(__inner)
                }
                Self::Other { tensor: __inner, .. } => {
                    <T as __dlpack::DLPackExport>::storage(__inner)
                }
                Self::Text { .. } => __dlpack::Option::None,
            }
        }
        #[doc(hidden)]
        #[inline]
        fn sync_for(
            &self,
            __consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<(), __dlpack::Error> {
            match self {
                Self::Float { 0: __inner } => {
                    <Samples as __dlpack::DLPackExport>::sync_for(__inner, __consumer)
                }
                Self::Other { tensor: __inner, .. } => {
                    <T as __dlpack::DLPackExport>::sync_for(__inner, __consumer)
                }
                Self::Text { .. } => __dlpack::skipped("Text"),
            }
        }
        #[inline]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            match self {
                Self::Float { 0: __inner } => {
                    <Samples as __dlpack::DLPackExport>::share(__inner)
                }
                Self::Other { tensor: __inner, .. } => {
                    <T as __dlpack::DLPackExport>::share(__inner)
                }
                Self::Text { .. } => __dlpack::Option::None,
            }
        }
        #[doc(hidden)]
        #[inline]
        fn record_type(&self) -> __dlpack::Option<&'static __dlpack::RecordType> {
            match self {
                Self::Float { 0: __inner } => {
                    <Samples as __dlpack::DLPackExport>::record_type(__inner)
                }
                Self::Other { tensor: __inner, .. } => {
                    <T as __dlpack::DLPackExport>::record_type(__inner)
                }
                Self::Text { .. } => __dlpack::Option::None,
            }
        }
        #[doc(hidden)]
        #[inline]
        fn to_dlpack_on(
            &self,
            __consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<__dlpack::ManagedTensor, __dlpack::Error> {
            match self {
                Self::Float { 0: __inner } => {
                    <Samples as __dlpack::DLPackExport>::to_dlpack_on(
                        __inner,
                        __consumer,
                    )
                }
                Self::Other { tensor: __inner, .. } => {
                    <T as __dlpack::DLPackExport>::to_dlpack_on(__inner, __consumer)
                }
                Self::Text { .. } => __dlpack::skipped("Text"),
            }
        }
    }
    __dlpack::assert_owner::<Samples>();
};
pub(crate) struct Samples(pub(crate) Box<dyn DLPackExport + Send>);
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    #[automatically_derived]
    impl __dlpack::DLPackExport for Samples {
        #[doc(hidden)]
        #[inline(always)]
        fn describe<'__dlpack>(
            &'__dlpack self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
            __dlpack::read_only(
                <Box<
                    dyn DLPackExport + Send,
                > as __dlpack::DLPackExport>::describe(&self.0, __out),
            )
        }
        #[inline(always)]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            <Box<dyn DLPackExport + Send> as __dlpack::DLPackExport>::storage(&self.0)
        }
        #[doc(hidden)]
        #[inline]
        fn sync_for(
            &self,
            __consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<(), __dlpack::Error> {
            <Box<
                dyn DLPackExport + Send,
            > as __dlpack::DLPackExport>::sync_for(&self.0, __consumer)
        }
        #[inline]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            <Box<dyn DLPackExport + Send> as __dlpack::DLPackExport>::share(&self.0)
        }
        #[doc(hidden)]
        #[inline]
        fn record_type(&self) -> __dlpack::Option<&'static __dlpack::RecordType> {
            <Box<
                dyn DLPackExport + Send,
            > as __dlpack::DLPackExport>::record_type(&self.0)
        }
    }
    __dlpack::assert_owner::<Box<dyn DLPackExport + Send>>();
};
