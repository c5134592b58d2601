//! The expansions that are kept for review in `dlpack-derive/tests/expand` compile
//! without a warning, and work.

#[deny(warnings, clippy::pedantic)]
#[expect(clippy::inline_always, reason = "clippy allows it in the output of a macro")]
#[forbid(unsafe_code)]
mod image {
    include!("../../../dlpack-derive/tests/expand/image.expanded.rs");
}

#[deny(warnings, clippy::pedantic)]
#[expect(clippy::inline_always, reason = "clippy allows it in the output of a macro")]
#[forbid(unsafe_code)]
mod every_role {
    use std::sync::Arc;

    use tensors::{DataType, Device};

    include!("../../../dlpack-derive/tests/expand/every_role.expanded.rs");
}

#[deny(warnings, clippy::pedantic)]
#[expect(clippy::inline_always, reason = "clippy allows it in the output of a macro")]
#[forbid(unsafe_code)]
mod generic {
    use tensors::{AsDims, Element};

    include!("../../../dlpack-derive/tests/expand/generic.expanded.rs");
}

#[deny(warnings, clippy::pedantic)]
#[expect(clippy::inline_always, reason = "clippy allows it in the output of a macro")]
#[forbid(unsafe_code)]
mod frame {
    use tensors::{Error, StreamArg, Synchronize};

    pub(crate) trait Pixel: Synchronize {
        const CHANNELS: u8;
    }

    pub(crate) struct Gray;

    impl Pixel for Gray {
        const CHANNELS: u8 = 1;
    }

    impl Synchronize for Gray {
        fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
            consumer.host()
        }
    }

    const WIDTH: usize = 2;

    include!("../../../dlpack-derive/tests/expand/frame.expanded.rs");
}

#[deny(warnings, clippy::pedantic)]
#[expect(clippy::question_mark, reason = "clippy allows it in the output of a macro")]
#[forbid(unsafe_code)]
mod imported {
    use tensors::{ImportedStorage, Readable};

    include!("../../../dlpack-derive/tests/expand/imported.expanded.rs");

    impl<T: Readable> Frame<T> {
        fn check(&self) -> Result<(), &'static str> {
            if self.name.is_empty() { Ok(()) } else { Err("it has a name already") }
        }
    }

    impl Table {
        fn new(bytes: Vec<u8>, rows: usize) -> Result<Self, &'static str> {
            if rows == 0 {
                return Err("a table has rows");
            }
            Ok(Self { sum: bytes.iter().map(|&byte| usize::from(byte)).sum(), bytes, rows })
        }
    }
}

#[deny(warnings, clippy::pedantic)]
#[expect(
    clippy::inline_always,
    clippy::question_mark,
    reason = "clippy allows it in the output of a macro"
)]
#[forbid(unsafe_code)]
mod image_in_and_out {
    use tensors::ImportedStorage;

    include!("../../../dlpack-derive/tests/expand/image_in_and_out.expanded.rs");
}

#[deny(warnings, clippy::pedantic)]
#[expect(
    clippy::inline_always,
    clippy::question_mark,
    reason = "clippy allows it in the output of a macro"
)]
#[forbid(unsafe_code)]
mod layout_in_and_out {
    use tensors::ImportedStorage;

    include!("../../../dlpack-derive/tests/expand/layout_in_and_out.expanded.rs");
}

#[deny(warnings, clippy::pedantic)]
#[expect(
    clippy::inline_always,
    clippy::needless_borrows_for_generic_args,
    clippy::question_mark,
    reason = "clippy allows it in the output of a macro"
)]
#[forbid(unsafe_code)]
mod stated {
    use tensors::{DataRef, DataType, ImportedStorage, Order, Storage};

    include!("../../../dlpack-derive/tests/expand/stated.expanded.rs");

    #[derive(Clone, Copy)]
    pub(crate) struct Bytes;

    impl From<Bytes> for DataType {
        fn from(_: Bytes) -> Self {
            Self::U8
        }
    }

    pub(crate) struct Tensor {
        pub(crate) bytes: Vec<u8>,
        pub(crate) strides: [usize; 1],
        pub(crate) kind: Bytes,
    }

    impl Tensor {
        fn dims(&self) -> [usize; 1] {
            [self.len()]
        }

        fn len(&self) -> usize {
            self.bytes.len() - 12
        }
    }

    impl Storage for Tensor {
        fn data(&self) -> DataRef<'_> {
            self.bytes.data()
        }
    }

    impl Constant {
        const SHAPE: [u8; 2] = [2, 3];
        const ORDER: Order = Order::RowMajor;
    }
}

#[deny(warnings, clippy::pedantic)]
#[expect(clippy::inline_always, reason = "clippy allows it in the output of a macro")]
#[forbid(unsafe_code)]
mod flex {
    use std::sync::Arc;

    include!("../../../dlpack-derive/tests/expand/flex.expanded.rs");
}

#[deny(warnings, clippy::pedantic)]
#[expect(clippy::inline_always, reason = "clippy allows it in the output of a macro")]
#[forbid(unsafe_code)]
mod column {
    use tensors::DLPackExport;

    include!("../../../dlpack-derive/tests/expand/column.expanded.rs");
}

#[deny(warnings, clippy::pedantic)]
#[expect(clippy::inline_always, reason = "clippy allows it in the output of a macro")]
#[expect(clippy::undocumented_unsafe_blocks, reason = "tokens carry no comments")]
mod pointer {
    use std::sync::Arc;

    include!("../../../dlpack-derive/tests/expand/pointer.expanded.rs");

    /// Clones own the same memory.
    #[derive(Clone)]
    pub(crate) struct Memory(pub(crate) Arc<[core::sync::atomic::AtomicU8]>);

    impl Memory {
        fn data(&self) -> *mut u8 {
            self.0.as_ptr().cast_mut().cast()
        }

        fn len(&self) -> usize {
            self.0.len()
        }
    }
}

#[deny(warnings, clippy::pedantic)]
#[expect(clippy::inline_always, reason = "clippy allows it in the output of a macro")]
#[expect(clippy::undocumented_unsafe_blocks, reason = "tokens carry no comments")]
mod parts {
    include!("../../../dlpack-derive/tests/expand/parts.expanded.rs");
}

#[deny(warnings, clippy::pedantic)]
#[expect(clippy::inline_always, reason = "clippy allows it in the output of a macro")]
#[forbid(unsafe_code)]
mod lent {
    use core::marker::PhantomData;
    use std::sync::Arc;

    use tensors::{DataType, Error};

    fn to_dtype(of: &str) -> Result<DataType, Error> {
        if of == "i" { Ok(DataType::I8) } else { Err(Error::Custom("not a letter of a type")) }
    }

    include!("../../../dlpack-derive/tests/expand/lent.expanded.rs");
}

use core::marker::PhantomData;
use std::sync::Arc;

use dlpack_tests::counted::Owner;
use tensors::{
    AsLayout, DLPackExport, DLPackImport, DataRef, DataType, Device, Error, ImportedTensor, Layout,
    Slot, Storage,
};

#[test]
fn the_expansion_of_the_smallest_struct_works() {
    let image = image::Image { data: vec![0; 12], shape: [2, 2, 3] };
    assert_eq!(image.into_dlpack().unwrap().shape(), [2, 2, 3]);
}

#[test]
fn the_expansion_of_parts_works() {
    assert_eq!(DataRef::from_slice(&[parts::Rgb([1, 2, 3])]).byte_len(), 3);
    assert_eq!(DataType::try_from(parts::Kind::F8), Ok(DataType::FLOAT8_E4M3FN));
    assert_eq!(DataType::try_from(parts::Kind::Text), Err(Error::NoDType { variant: "Text" }));
    assert_eq!(parts::Kind::try_from(DataType::F32), Ok(parts::Kind::F32));
    assert_eq!(parts::Buffer::F32(vec![1.0]).data().dtype(), DataType::F32);
    let text = parts::Buffer::Text(Vec::new());
    assert!(matches!(&text, parts::Buffer::Text(words) if words.is_empty()));
    let strided = parts::Strided { shape: vec![2], strides: vec![-1], start: 1 };
    let mut slot = Slot::new();
    let view = slot.describe().layout(strided.layout()).data(text.data());
    assert_eq!(view.unwrap_err(), Error::NoStorage { variant: "Text" });
}

#[test]
fn the_expansion_of_every_role_works() {
    let packet = every_role::Packet {
        bytes: Arc::new([0; 9]),
        extents: [2, 2],
        steps: [4, 1],
        byte_offset: 1,
        dtype: DataType::I8,
        device: Device::CPU,
        name: "packet",
    };
    assert_eq!(packet.name, "packet");
    assert_eq!(packet.to_dlpack().unwrap().strides(), [4, 1]);
}

#[test]
fn the_expansion_of_stated_parts_works() {
    let tensor = stated::Tensor { bytes: vec![0; 16], strides: [1], kind: stated::Bytes };
    let tensor = stated::Stated(tensor).into_dlpack().unwrap();
    assert_eq!((tensor.shape(), tensor.dtype()), (&[4][..], DataType::U8));
    let image = image::Image { data: vec![0; 12], shape: [2, 2, 3] };
    let tensor = image.into_dlpack().unwrap().import().unwrap();
    let error = stated::Constant::from_dlpack(tensor).map(|constant| constant.data).unwrap_err();
    assert_eq!(error.to_string(), "`Constant`: expected 2 dimensions, got 3");
}

#[test]
fn the_expansion_of_a_generic_struct_works() {
    let batch = generic::Batch::<'_, _, _, 2> { data: &[0_i32; 12], strides: [6, 2, 1] };
    assert_eq!(batch.tensor().unwrap().shape(), [2, 3, 2]);
}

#[test]
fn the_expansion_of_a_frame_works() {
    let frame = frame::Frame {
        data: vec![0; 12],
        height: 2,
        pitch: 8,
        start: 2,
        nbytes: 8,
        event: frame::Gray,
    };
    // A `Vec<u8>` may be aligned for no more than bytes.
    match frame.into_dlpack() {
        Ok(tensor) => assert_eq!(tensor.strides(), [1, 2, 4]),
        Err(error) => assert!(matches!(error, Error::Misaligned { .. }), "{error}"),
    }
}

#[test]
fn the_expansion_of_a_flexible_layout_works() {
    struct Dense([usize; 1]);

    impl AsLayout for Dense {
        fn layout(&self) -> Layout<'_> {
            Layout::new(&self.0)
        }
    }

    let flex = flex::Flex(Arc::new([0.0; 2]), Dense([2]));
    assert_eq!(flex.to_dlpack().unwrap().shape(), [2]);
}

#[test]
fn the_expansion_of_a_column_works() {
    let image = || image::Image { data: vec![0; 12], shape: [2, 2, 3] };
    let float = column::Column::<image::Image>::Float(column::Samples(Box::new(image())));
    assert!(float.tensor().unwrap().is_read_only());
    let other = column::Column::Other { tensor: image(), name: "other" };
    assert!(matches!(other, column::Column::Other { name: "other", .. }));
    assert_eq!(other.into_dlpack().unwrap().ndim(), 3);
    let text = column::Column::<image::Image>::Text.into_dlpack();
    assert_eq!(text.unwrap_err(), Error::NoStorage { variant: "Text" });
}

#[test]
fn the_expansion_of_a_raw_pointer_works() {
    let file: Arc<[f32]> = Arc::new([0.5, 1.5]);
    let pointer = pointer::Pointer { pixels: file.as_ptr(), size: 2, file };
    assert_eq!(pointer.tensor().unwrap().numel(), 2);
    assert_eq!(pointer.file.len(), 2);
    assert!(pointer.to_dlpack().unwrap().is_read_only());
    let memory: Vec<_> = (0..3_u8).map(core::sync::atomic::AtomicU8::new).collect();
    let handle = pointer::Handle(pointer::Memory(memory.into()));
    let shared = handle.to_dlpack().unwrap();
    assert!(!shared.is_read_only() && handle.into_dlpack().unwrap().shape() == [3]);
}

#[test]
fn the_expansion_of_lent_slices_works() {
    let letters = lent::Letters { text: Arc::new(b"ab".to_vec()), kind: "i".to_owned() };
    assert_eq!(letters.to_dlpack().unwrap().shape(), [2, 1]);
    let row = lent::Row { values: [1_u8, 2], shape: [2], element: PhantomData };
    assert_eq!(row.into_dlpack().unwrap().dtype(), DataType::U8);
}

/// Returns a tensor of those elements, as a consumer has it.
fn given<T: tensors::Element>(elements: &[T], shape: &[i64]) -> ImportedTensor {
    Owner::new(elements.to_vec(), shape).into_dlpack().unwrap().import().unwrap()
}

#[test]
fn the_expansion_of_an_import_works() {
    let source = |tensor| imported::Source::from_dlpack(tensor);
    let Ok(imported::Source::Frame(frame)) = source(given(&[1_u8, 2], &[1, 2])) else {
        panic!("they are bytes")
    };
    assert_eq!((&frame.shape[..], &frame.strides[..], frame.start), (&[1, 2][..], &[2, 1][..], 0));
    assert_eq!(frame.pixels.imported().numel(), 2);
    let Ok(imported::Source::Table { inner, name }) = source(given(&[0.0_f32; 6], &[2, 3])) else {
        panic!("they are floats")
    };
    assert_eq!((inner.rows, inner.sum, inner.bytes.len(), &name[..]), (2, 0, 24, ""));
    assert!(source(given(&[1_u8], &[1])).is_err());
    assert!(!matches!(imported::Source::Text, imported::Source::Frame(_)));
}

#[test]
fn the_expansion_of_both_derives_works() {
    let image = image_in_and_out::Image::from_dlpack(given(&[0_u8; 6], &[1, 2, 3])).unwrap();
    assert_eq!(image.into_dlpack().unwrap().shape(), [1, 2, 3]);
    let buffer = <layout_in_and_out::Buffer as tensors::ImportStorage>::from_imported;
    let foreign = buffer(given(&[0.5_f32], &[1])).unwrap();
    assert!(matches!(&foreign, layout_in_and_out::Buffer::Foreign(_)));
    let own = layout_in_and_out::Buffer::Own(vec![0.5]);
    assert_eq!(own.data().byte_len(), foreign.data().byte_len());
    let strided = layout_in_and_out::Strided { shape: vec![1], strides: vec![1], byte_offset: 0 };
    let mut slot = Slot::new();
    assert!(slot.describe().layout(strided.layout()).data(own.data()).is_ok());
}
