/// A pixel: one element with an axis of its own.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Rgb(pub(crate) [u8; 3]);
const _: () = {
    use ::tensors::__private::companion as __dlpack;
    enum __Here {}
    #[automatically_derived]
    impl __dlpack::Wraps<__Here> for Rgb {
        type Inner = [u8; 3];
        type Field = [u8; 3];
        fn fields(&self, see: fn(&Self::Field)) {
            see(&self.0);
        }
    }
    #[automatically_derived]
    unsafe impl __dlpack::Element for Rgb {
        const DTYPE: __dlpack::DataType = __dlpack::dtype::<__Here, Self>();
        const AXES: &'static [__dlpack::i64] = __dlpack::axes::<__Here, Self>();
        const ANY_BITS: __dlpack::bool = false;
    }
    __dlpack::assert_element::<Rgb>();
};
/// Element types that are known when the program runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    F32,
    F8,
    Text,
}
const _: () = {
    use ::tensors::__private::companion as __dlpack;
    #[automatically_derived]
    impl __dlpack::TryFrom<&Kind> for __dlpack::DataType {
        type Error = __dlpack::Error;
        #[inline]
        fn try_from(dtype: &Kind) -> __dlpack::Result<Self, __dlpack::Error> {
            match *dtype {
                Kind::F32 => __dlpack::Result::Ok(__dlpack::DataType::F32),
                Kind::F8 => __dlpack::Result::Ok(__dlpack::DataType::FLOAT8_E4M3FN),
                Kind::Text => {
                    __dlpack::Result::Err(__dlpack::Error::NoDType {
                        variant: "Text",
                    })
                }
            }
        }
    }
    #[automatically_derived]
    impl __dlpack::TryFrom<Kind> for __dlpack::DataType {
        type Error = __dlpack::Error;
        #[inline]
        fn try_from(dtype: Kind) -> __dlpack::Result<Self, __dlpack::Error> {
            <Self as __dlpack::TryFrom<&Kind>>::try_from(&dtype)
        }
    }
    #[automatically_derived]
    impl __dlpack::TryFrom<__dlpack::DataType> for Kind {
        type Error = __dlpack::Error;
        #[inline]
        fn try_from(
            dtype: __dlpack::DataType,
        ) -> __dlpack::Result<Self, __dlpack::Error> {
            if __dlpack::is(dtype, __dlpack::Result::Ok(__dlpack::DataType::F32)) {
                return __dlpack::Result::Ok(Kind::F32);
            }
            if __dlpack::is(
                dtype,
                __dlpack::Result::Ok(__dlpack::DataType::FLOAT8_E4M3FN),
            ) {
                return __dlpack::Result::Ok(Kind::F8);
            }
            __dlpack::Result::Err(__dlpack::Error::NoVariant {
                dtype,
            })
        }
    }
};
/// One buffer for each of them.
pub(crate) enum Buffer {
    F32(Vec<f32>),
    Text(Vec<String>),
}
const _: () = {
    use ::tensors::__private::companion as __dlpack;
    enum __Here {}
    #[automatically_derived]
    impl __dlpack::Variant<__Here, 0> for Buffer {
        type Data = Vec<f32>;
    }
    #[automatically_derived]
    impl __dlpack::Storage for Buffer {
        #[inline]
        fn data(&self) -> __dlpack::DataRef<'_> {
            match self {
                Self::F32 { 0: data, .. } => __dlpack::data::<__Here, 0, Self>(data),
                Self::Text { .. } => {
                    __dlpack::DataRef::refused(const {
                        &__dlpack::Error::NoStorage {
                            variant: "Text",
                        }
                    })
                }
            }
        }
        #[inline]
        fn lend(&mut self) -> __dlpack::Data<'_> {
            match self {
                Self::F32 { 0: data, .. } => __dlpack::lend::<__Here, 0, Self>(data),
                Self::Text { .. } => {
                    __dlpack::Data::refused(const {
                        &__dlpack::Error::NoStorage {
                            variant: "Text",
                        }
                    })
                }
            }
        }
        #[inline]
        fn hand_off(
            &self,
            consumer: __dlpack::StreamArg<'_>,
        ) -> __dlpack::Result<(), __dlpack::Error> {
            match self {
                Self::F32 { 0: data, .. } => {
                    __dlpack::hand_off::<__Here, 0, Self>(data, consumer)
                }
                Self::Text { .. } => {
                    __dlpack::Result::Err(__dlpack::Error::NoStorage {
                        variant: "Text",
                    })
                }
            }
        }
        #[inline]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            match self {
                Self::F32 { 0: data, .. } => __dlpack::share::<__Here, 0, Self>(data),
                Self::Text { .. } => {
                    __dlpack::share_nothing(const {
                        &__dlpack::Error::NoStorage {
                            variant: "Text",
                        }
                    })
                }
            }
        }
    }
};
/// A layout in one piece.
pub(crate) struct Strided {
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    pub(crate) start: usize,
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
            __dlpack::offset::<usize>(layout, &self.start)
        }
    }
};
