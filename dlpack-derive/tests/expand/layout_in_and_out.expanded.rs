pub(crate) struct Strided {
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    pub(crate) byte_offset: usize,
}
const _: () = {
    use ::tensors::__private as __dlpack;
    #[automatically_derived]
    impl __dlpack::AsLayout for Strided {
        #[inline]
        fn as_layout(&self) -> __dlpack::Result<__dlpack::Layout<'_>, __dlpack::Error> {
            let layout = __dlpack::strided(
                __dlpack::shape::<Vec<usize>, _>((), &self.shape),
                __dlpack::strides::<Vec<isize>>(&self.strides),
            );
            __dlpack::byte_offset::<usize>(layout, &self.byte_offset)
        }
    }
};
const _: () = {
    use ::tensors::__private::import as __dlpack;
    #[automatically_derived]
    impl __dlpack::FromLayout for Strided {
        const ORDER: __dlpack::Order = __dlpack::Order::RowMajor;
        fn accepts(
            tensor: &__dlpack::Imported,
            shape: &[__dlpack::i64],
            copied: __dlpack::bool,
        ) -> __dlpack::Result<(), __dlpack::Unmet> {
            __dlpack::meets(
                tensor,
                shape,
                copied,
                &[__dlpack::Want::Filled(__dlpack::shape::<Vec<usize>>().capacity)],
            )
        }
        fn from_layout(
            tensor: &__dlpack::Parts<'_>,
        ) -> __dlpack::Result<Self, __dlpack::ImportError> {
            __dlpack::Result::Ok(Self {
                shape: (__dlpack::shape::<Vec<usize>>().make)(tensor)?,
                strides: __dlpack::strides::<Vec<isize>>(tensor, __dlpack::FILLED)?,
                byte_offset: __dlpack::byte_offset::<usize>(tensor)?,
            })
        }
    }
};
pub(crate) enum Buffer {
    Own(Vec<f32>),
    Foreign(Foreign<f32>),
}
const _: () = {
    use ::tensors::__private::companion as __dlpack;
    enum __Here {}
    #[automatically_derived]
    impl __dlpack::ImportStorage for Buffer {
        fn accepts(
            tensor: &__dlpack::Imported,
        ) -> __dlpack::Result<(), __dlpack::Unmet> {
            __dlpack::any_holds(tensor, &[__dlpack::storage::<Foreign<f32>>().accepts])
        }
        fn from_imported(
            tensor: __dlpack::Imported,
        ) -> __dlpack::Result<Self, __dlpack::Error> {
            __dlpack::Result::Ok(
                Self::Foreign(__dlpack::storage::<Foreign<f32>>().of(tensor)?),
            )
        }
    }
    #[automatically_derived]
    impl __dlpack::Variant<__Here, 0> for Buffer {
        type Data = Vec<f32>;
    }
    #[automatically_derived]
    impl __dlpack::Variant<__Here, 1> for Buffer {
        type Data = Foreign<f32>;
    }
    #[automatically_derived]
    impl __dlpack::Storage for Buffer {
        #[inline]
        fn data(&self) -> __dlpack::DataRef<'_> {
            match self {
                Self::Own { 0: data, .. } => __dlpack::data::<__Here, 0, Self>(data),
                Self::Foreign { 0: data, .. } => __dlpack::data::<__Here, 1, Self>(data),
            }
        }
        #[inline]
        fn lend(&mut self) -> __dlpack::Data<'_> {
            match self {
                Self::Own { 0: data, .. } => __dlpack::lend::<__Here, 0, Self>(data),
                Self::Foreign { 0: data, .. } => __dlpack::lend::<__Here, 1, Self>(data),
            }
        }
        #[inline]
        fn hand_off(
            &self,
            consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<(), __dlpack::Error> {
            match self {
                Self::Own { 0: data, .. } => {
                    __dlpack::hand_off::<__Here, 0, Self>(data, consumer)
                }
                Self::Foreign { 0: data, .. } => {
                    __dlpack::hand_off::<__Here, 1, Self>(data, consumer)
                }
            }
        }
        #[inline]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            match self {
                Self::Own { 0: data, .. } => __dlpack::share::<__Here, 0, Self>(data),
                Self::Foreign { 0: data, .. } => __dlpack::share::<__Here, 1, Self>(data),
            }
        }
    }
};
