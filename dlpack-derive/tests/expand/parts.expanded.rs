/// A pixel: one element with an axis of its own.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Rgb(pub(crate) [u8; 3]);
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate::parts as __dlpack;
    #[automatically_derived]
    unsafe impl __dlpack::Fields for Rgb {
        type AnyBits = [(); 0];
        const LANES: __dlpack::bool = false;
        #[inline]
        fn fields(&'static mut self) -> impl __dlpack::Split {
            let Self { 0: __part0 } = self;
            let __part0: *mut _ = __part0;
            ([__part0], ())
        }
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
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate::parts as __dlpack;
    #[automatically_derived]
    impl __dlpack::TryFrom<&Kind> for __dlpack::DataType {
        type Error = __dlpack::Error;
        #[inline]
        fn try_from(__dtype: &Kind) -> __dlpack::Result<Self, __dlpack::Error> {
            match *__dtype {
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
        fn try_from(__dtype: Kind) -> __dlpack::Result<Self, __dlpack::Error> {
            <Self as __dlpack::TryFrom<&Kind>>::try_from(&__dtype)
        }
    }
    #[automatically_derived]
    impl __dlpack::TryFrom<__dlpack::DataType> for Kind {
        type Error = __dlpack::Error;
        #[inline]
        fn try_from(
            __dtype: __dlpack::DataType,
        ) -> __dlpack::Result<Self, __dlpack::Error> {
            if __dlpack::is(__dtype, __dlpack::Result::Ok(__dlpack::DataType::F32)) {
                return __dlpack::Result::Ok(Kind::F32);
            }
            if __dlpack::is(
                __dtype,
                __dlpack::Result::Ok(__dlpack::DataType::FLOAT8_E4M3FN),
            ) {
                return __dlpack::Result::Ok(Kind::F8);
            }
            __dlpack::Result::Err(__dlpack::Error::NoVariant {
                dtype: __dtype,
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
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate::parts as __dlpack;
    #[automatically_derived]
    impl __dlpack::Storage for Buffer {
        #[inline(always)]
        fn data(&self) -> __dlpack::DataRef<'_> {
            match self {
                Self::F32 { 0: __data, .. } => {
                    <Vec<f32> as __dlpack::Storage>::data(__data)
                }
                Self::Text { .. } => {
                    __dlpack::DataRef::refused(const {
                        &__dlpack::Error::NoStorage {
                            variant: "Text",
                        }
                    })
                }
            }
        }
        #[inline(always)]
        fn data_mut(&mut self) -> __dlpack::DataMut<'_> {
            match self {
                Self::F32 { 0: __data, .. } => {
                    <Vec<f32> as __dlpack::Storage>::data_mut(__data)
                }
                Self::Text { .. } => {
                    __dlpack::DataMut::refused(const {
                        &__dlpack::Error::NoStorage {
                            variant: "Text",
                        }
                    })
                }
            }
        }
        #[inline(always)]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
            match self {
                Self::F32 { 0: __data, .. } => {
                    <Vec<f32> as __dlpack::Storage>::share(__data)
                }
                Self::Text { .. } => {
                    __dlpack::share_nothing(const {
                        &__dlpack::Error::NoStorage {
                            variant: "Text",
                        }
                    })
                }
            }
        }
        #[inline]
        fn record_type(&self) -> __dlpack::Option<&'static __dlpack::RecordType> {
            match self {
                Self::F32 { 0: __data, .. } => {
                    <Vec<f32> as __dlpack::Storage>::record_type(__data)
                }
                Self::Text { .. } => __dlpack::Option::None,
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
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate as __dlpack;
    #[automatically_derived]
    impl __dlpack::AsLayout for Strided {
        #[inline(always)]
        fn layout(&self) -> __dlpack::Layout<'_> {
            let __layout = __dlpack::shape::<Vec<usize>>(&self.shape);
            let __layout = __dlpack::strides::<Vec<isize>>(__layout, &self.strides);
            __dlpack::offset::<usize>(__layout, &self.start)
        }
    }
};
/// A record: each field is a tensor.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Sample {
    pub(crate) color: [u8; 3],
    padding: u8,
    depth: f32,
}
const _: () = {
    use ::tensors::__private::dlpack_derive_0_1_0_see_attribute_crate::parts as __dlpack;
    impl Sample {
        ///The field `color`.
        #[allow(dead_code)]
        pub(crate) const COLOR: __dlpack::Field<Self, [u8; 3]> = __dlpack::field(
            "color",
            __dlpack::offset_of!(Self, color),
        );
        ///The field `depth`.
        #[allow(dead_code)]
        const DEPTH: __dlpack::Field<Self, f32> = __dlpack::field(
            "depth",
            __dlpack::offset_of!(Self, depth),
        );
    }
    #[automatically_derived]
    unsafe impl __dlpack::Fields for Sample {
        type AnyBits = [(); 1];
        const LANES: __dlpack::bool = false;
        const FIELDS: &'static [__dlpack::FieldType] = &[
            Self::COLOR.ty(),
            Self::DEPTH.ty(),
        ];
        #[inline]
        fn fields(&'static mut self) -> impl __dlpack::Split {
            let Self { color: __part0, padding: __part1, depth: __part2 } = self;
            let __part0: *mut _ = __part0;
            let __part1: *mut _ = __part1;
            let __part2: *mut _ = __part2;
            (__part0, (__part1, (__part2, ())))
        }
    }
    __dlpack::assert_element::<Sample>();
    __dlpack::assert_any_bits::<Sample>();
};
