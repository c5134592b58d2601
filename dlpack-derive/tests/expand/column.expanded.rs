pub(crate) enum Column<T> {
    Float(Samples),
    Other { tensor: T, name: &'static str },
    Text,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0 as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl<T> __dlpack::Inner<__Roles, 0> for Column<T>
    where
        T: DLPackExport,
    {
        type Type = Samples;
    }
    #[automatically_derived]
    impl<T> __dlpack::Inner<__Roles, 1> for Column<T>
    where
        T: DLPackExport,
    {
        type Type = T;
    }
    #[automatically_derived]
    impl<T> __dlpack::DLPackExport for Column<T>
    where
        T: DLPackExport,
    {
        #[inline(always)]
        fn describe<'__dlpack>(
            &'__dlpack self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
            match self {
                Self::Float { 0: __inner } => {
                    __dlpack::inner_describe::<__Roles, 0, Self>(__inner, __out)
                }
                Self::Other { tensor: __inner, .. } => {
                    __dlpack::inner_describe::<__Roles, 1, Self>(__inner, __out)
                }
                Self::Text { .. } => __dlpack::skipped("Text"),
            }
        }
        #[inline(always)]
        fn describe_mut<'__dlpack>(
            &'__dlpack mut self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::DescriptionMut<'__dlpack>, __dlpack::Error> {
            match self {
                Self::Float { 0: __inner } => {
                    __dlpack::inner_describe_mut::<__Roles, 0, Self>(__inner, __out)
                }
                Self::Other { tensor: __inner, .. } => {
                    __dlpack::inner_describe_mut::<__Roles, 1, Self>(__inner, __out)
                }
                Self::Text { .. } => __dlpack::skipped("Text"),
            }
        }
        #[inline(always)]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            match self {
                Self::Float { 0: __inner } => {
                    __dlpack::inner_storage::<__Roles, 0, Self>(__inner)
                }
                Self::Other { tensor: __inner, .. } => {
                    __dlpack::inner_storage::<__Roles, 1, Self>(__inner)
                }
                Self::Text { .. } => __dlpack::Option::None,
            }
        }
        #[inline]
        fn sync_for(
            &self,
            __consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<(), __dlpack::Error> {
            match self {
                Self::Float { 0: __inner } => {
                    __dlpack::inner_sync_for::<__Roles, 0, Self>(__inner, __consumer)
                }
                Self::Other { tensor: __inner, .. } => {
                    __dlpack::inner_sync_for::<__Roles, 1, Self>(__inner, __consumer)
                }
                Self::Text { .. } => __dlpack::skipped("Text"),
            }
        }
        #[inline]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            match self {
                Self::Float { 0: __inner } => {
                    __dlpack::inner_share::<__Roles, 0, Self>(__inner)
                }
                Self::Other { tensor: __inner, .. } => {
                    __dlpack::inner_share::<__Roles, 1, Self>(__inner)
                }
                Self::Text { .. } => __dlpack::Option::None,
            }
        }
        #[inline]
        fn to_dlpack_on(
            &self,
            __consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<__dlpack::ManagedTensor, __dlpack::Error> {
            match self {
                Self::Float { 0: __inner } => {
                    __dlpack::inner_to_dlpack_on::<__Roles, 0, Self>(__inner, __consumer)
                }
                Self::Other { tensor: __inner, .. } => {
                    __dlpack::inner_to_dlpack_on::<__Roles, 1, Self>(__inner, __consumer)
                }
                Self::Text { .. } => __dlpack::skipped("Text"),
            }
        }
    }
    __dlpack::assert_owner::<Samples>();
};
pub(crate) struct Samples(pub(crate) Box<dyn DLPackExport + Send>);
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0 as __dlpack;
    enum __Roles {}
    #[automatically_derived]
    impl __dlpack::Inner<__Roles, 0> for Samples {
        type Type = Box<dyn DLPackExport + Send>;
    }
    #[automatically_derived]
    impl __dlpack::DLPackExport for Samples {
        #[inline(always)]
        fn describe<'__dlpack>(
            &'__dlpack self,
            __out: __dlpack::Describe<'__dlpack>,
        ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
            __dlpack::read_only(
                __dlpack::inner_describe::<__Roles, 0, Self>(&self.0, __out),
            )
        }
        #[inline(always)]
        fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
            __dlpack::inner_storage::<__Roles, 0, Self>(&self.0)
        }
        #[inline]
        fn sync_for(
            &self,
            __consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<(), __dlpack::Error> {
            __dlpack::inner_sync_for::<__Roles, 0, Self>(&self.0, __consumer)
        }
        #[inline]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            __dlpack::inner_share::<__Roles, 0, Self>(&self.0)
        }
    }
    __dlpack::assert_owner::<Box<dyn DLPackExport + Send>>();
};
