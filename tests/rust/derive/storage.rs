//! `#[derive(Storage)]`: enums with a storage in each variant, and structs
//! around a storage.

#![forbid(unsafe_code)]

use core::marker::PhantomData;
use std::sync::Arc;

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::ffi::{DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, DLPACK_FLAG_BITMASK_READ_ONLY};
use tensors::{DLPackExport, DataType, Element, Error, SharedBuffer, Storage};

/// One variant for each type.
#[derive(Storage)]
#[dlpack(crate = ::tensors)]
enum Cpu {
    U8(Vec<u8>),
    F32(Vec<f32>),
    Shared(Arc<[i64]>),
    Named {
        buffer: SharedBuffer<u16>,
        #[dlpack(skip)]
        label: &'static str,
    },
    #[dlpack(dtype = FLOAT6_E2M3FN, packed)]
    F6(Vec<u8>),
    #[dlpack(dtype = FLOAT4_E2M1FN, padded)]
    F4(Arc<[u8]>),
    #[dlpack(dtype = FLOAT8_E5M2)]
    F8(SharedBuffer<u8>),
    #[dlpack(dtype = BF16)]
    Wide(SharedBuffer<u8>),
    #[dlpack(dtype = BF16)]
    Frozen(Arc<[u8]>),
    #[dlpack(skip)]
    Str {
        _text: Vec<String>,
    },
    #[dlpack(skip)]
    Closed,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Tensor<S> {
    data: S,
    shape: Vec<usize>,
}

fn tensor<S: Storage>(data: S, len: usize) -> Tensor<S> {
    Tensor { data, shape: vec![len] }
}

fn export<S: Storage + Send + 'static>(data: S, len: usize) -> ImportedStorage {
    tensor(data, len).into_dlpack().expect("a tensor").into()
}

fn elements<T: Element>(tensor: ImportedStorage) -> Vec<T> {
    let elements = tensor.elements();
    tensor.delete(Farewell::Plain);
    elements
}

#[test]
fn each_variant_has_its_dtype() {
    assert_eq!(elements::<u8>(export(Cpu::U8(vec![1, 2]), 2)), [1, 2]);
    let floats = export(Cpu::F32(vec![1.0, 2.0]), 2);
    assert!(floats.is_writable(), "exclusive memory stays exclusive");
    floats.write(|x: f32| x + 0.5);
    assert_eq!(elements::<f32>(floats), [1.5, 2.5]);
    let shared: Arc<[i64]> = Arc::from([1, 2]);
    let tensor = tensor(Cpu::Shared(Arc::clone(&shared)), 2);
    let export = ImportedStorage::from(tensor.to_dlpack().expect("an `Arc` can be shared"));
    assert_eq!(export.data().cast_const(), shared.as_ptr().cast());
    assert!(!export.is_writable());
    drop(tensor);
    assert_eq!(elements::<i64>(export), [1, 2]);
    assert_eq!(Arc::strong_count(&shared), 1);
}

#[test]
fn variants_with_named_fields_are_storages() {
    let buffer = SharedBuffer::from_slice(&[7_u16, 8]).expect("memory");
    let data = Cpu::Named { buffer: buffer.clone(), label: "depth" };
    assert!(matches!(data, Cpu::Named { label: "depth", .. }));
    let tensor = export(data, 2);
    assert!(tensor.is_writable());
    buffer.store(0, 9);
    assert_eq!(elements::<u16>(tensor), [9, 8]);
}

#[test]
fn skipped_variants_are_errors_that_name_them() {
    for (data, variant) in [(Cpu::Str { _text: Vec::new() }, "Str"), (Cpu::Closed, "Closed")] {
        // Also of no elements, which would fit into no memory.
        let tensor = tensor(data, 0);
        let error = Error::NoStorage { variant };
        assert_eq!(tensor.tensor().unwrap_err(), error);
        assert_eq!(tensor.to_dlpack().unwrap_err(), error);
        assert_eq!(tensor.copy_to_dlpack().unwrap_err(), error);
        assert_eq!(tensor.into_dlpack().unwrap_err(), error);
    }
    let arc = tensor(Arc::new(Cpu::Closed), 0);
    let error = Error::NoStorage { variant: "Closed" };
    assert_eq!(arc.to_dlpack().unwrap_err(), error);
    let boxed: Box<dyn Storage> = Box::new(Cpu::Closed);
    assert_eq!(tensor(boxed, 0).tensor().unwrap_err(), error);
}

/// Bytes of any alignment can be types of 8 bits and fewer.
#[test]
fn bytes_are_exported_as_types_of_alignment_one() {
    let packed = tensor(Cpu::F6(vec![0; 6]), 8);
    assert_eq!(packed.tensor().expect("8 x 6 bits").dtype(), DataType::FLOAT6_E2M3FN);
    let export = ImportedStorage::from(packed.into_dlpack().expect("a tensor"));
    assert_eq!((export.shape(), export.flags()), (vec![8], 0));
    export.delete(Farewell::Plain);
    let too_long = tensor(Cpu::F6(vec![0; 6]), 9);
    let error = Error::OutOfBounds { start: 0, end: 7, len: 6 };
    assert_eq!(too_long.into_dlpack().unwrap_err(), error);

    let padded = tensor(Cpu::F4(Arc::from([1, 2, 3])), 3);
    let export = ImportedStorage::from(padded.to_dlpack().expect("one byte each"));
    let flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED | DLPACK_FLAG_BITMASK_READ_ONLY;
    assert_eq!(export.flags(), flags);
    export.delete(Farewell::Plain);
    assert_eq!(padded.into_dlpack_legacy().unwrap_err(), Error::ReadOnlyLegacy);
}

/// Shared bytes can be read in any width, because Rust accesses them byte-wise atomically.
#[test]
fn shared_bytes_are_exported_as_other_types() {
    let buffer = SharedBuffer::from_slice(&[1_u8, 2, 3, 4]).expect("memory");
    let narrow = tensor(Cpu::F8(buffer.clone()), 4);
    let copy = narrow.copy_to_dlpack().expect("a copy");
    assert_eq!(copy.dtype(), DataType::FLOAT8_E5M2);
    buffer.store(1, 9);
    let export = ImportedStorage::from(narrow.to_dlpack().expect("a tensor"));
    assert!(export.is_writable());
    export.delete(Farewell::Plain);
    let wide = tensor(Cpu::Wide(buffer), 2);
    assert_eq!(wide.tensor().expect("a view").dtype(), DataType::BF16);
    let export = ImportedStorage::from(wide.to_dlpack().expect("a tensor"));
    assert!(export.is_writable());
    let bits: [u16; 2] = [u16::from_ne_bytes([1, 9]), u16::from_ne_bytes([3, 4])];
    assert_eq!(elements::<half::bf16>(export), bits.map(half::bf16::from_bits));
}

/// Read-only bytes can be exported with any width, where they are aligned for it.
#[test]
fn frozen_bytes_are_exported_as_aligned_wide_types() {
    let data: Arc<[u8]> = Arc::from([0, 1, 2, 3]);
    assert!(data.as_ptr().addr() % 2 == 0, "behind the counts");
    let wide = tensor(Cpu::Frozen(Arc::clone(&data)), 2);
    assert_eq!(wide.tensor().expect("a view").dtype(), DataType::BF16);
    let export = ImportedStorage::from(wide.to_dlpack().expect("a tensor"));
    assert_eq!(export.data().cast_const(), data.as_ptr().cast());
    let bits: [u16; 2] = [u16::from_ne_bytes([0, 1]), u16::from_ne_bytes([2, 3])];
    assert_eq!(elements::<half::bf16>(export), bits.map(half::bf16::from_bits));
}

/// A variant that contains bytes, which is known only at run time.
#[derive(Storage)]
#[dlpack(crate = ::tensors)]
struct Erased(#[dlpack(dtype = FLOAT8_E4M3FN)] Box<dyn Storage + Send>);

#[test]
fn only_bytes_are_reinterpreted() {
    let error = Error::NotBytes { dtype: DataType::FLOAT8_E4M3FN };
    assert_eq!(tensor(Erased(Box::new([1.0_f32])), 1).into_dlpack().unwrap_err(), error);
    let bytes = tensor(Erased(Box::new([1_u8])), 1);
    assert_eq!(bytes.into_dlpack().expect("a tensor").dtype(), DataType::FLOAT8_E4M3FN);
    let nested = tensor(Erased(Box::new(Cpu::Closed)), 1);
    assert_eq!(nested.into_dlpack().unwrap_err(), Error::NoStorage { variant: "Closed" });
}

/// Enums in enums, owned or borrowed, of any storage.
#[derive(Storage)]
#[dlpack(crate = ::tensors)]
enum Cow<'a, T, B>
where
    T: Element,
{
    Owned(B, PhantomData<T>),
    Borrowed(&'a [T]),
    Fixed([T; 2]),
}

#[derive(Storage)]
#[dlpack(crate = ::tensors)]
enum Dev<S> {
    Cpu(S),
    #[dlpack(skip)]
    #[expect(dead_code, reason = "there is no Metal here")]
    Metal {
        handle: usize,
        offset: usize,
    },
}

/// A struct around a storage.
#[derive(Clone, Storage)]
#[dlpack(crate = ::tensors)]
struct Buffer<T> {
    #[dlpack(skip)]
    id: u64,
    r#move: T,
}

#[test]
fn generic_and_nested_enums_are_storages() {
    let owned: Cow<'static, f32, Vec<f32>> = Cow::Owned(vec![1.0], PhantomData);
    assert_eq!(elements::<f32>(export(owned, 1)), [1.0]);
    let numbers = [1_i32, 2];
    let borrowed = tensor(Cow::<'_, _, Vec<u8>>::Borrowed(&numbers), 2);
    assert_eq!(borrowed.tensor().expect("a view").data_ptr(), numbers.as_ptr().cast());
    let fixed = Dev::Cpu(Cow::<'static, u8, Vec<u8>>::Fixed([3, 4]));
    assert_eq!(elements::<u8>(export(fixed, 2)), [3, 4]);
    let buffer = Buffer { id: 7, r#move: Arc::new([1_u8, 2]) };
    assert_eq!(buffer.id, 7);
    let shared = tensor(buffer.clone(), 2).to_dlpack().expect("an `Arc`");
    assert_eq!(Arc::strong_count(&buffer.r#move), 3 - 1);
    drop(shared);
}

/// The other owner of a shared export is not a second value of the enum.
#[test]
fn shared_export_of_an_enum_runs_its_drop_once() {
    use core::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Storage)]
    #[dlpack(crate = ::tensors)]
    enum Pooled {
        Frozen(Arc<[f32]>, #[dlpack(skip)] Arc<AtomicUsize>),
        #[expect(dead_code, reason = "the enum has several variants")]
        Shared(SharedBuffer<f32>),
    }

    impl Drop for Pooled {
        fn drop(&mut self) {
            if let Self::Frozen(_, drops) = self {
                drops.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    let (memory, drops) = (Arc::from([1.0, 2.0]), Arc::new(AtomicUsize::new(0)));
    let pooled = tensor(Pooled::Frozen(Arc::clone(&memory), Arc::clone(&drops)), 2);
    let shared: ImportedStorage = pooled.to_dlpack().expect("a tensor").into();
    assert_eq!(Arc::strong_count(&memory), 3);
    drop(pooled);
    assert_eq!((drops.load(Ordering::Relaxed), Arc::strong_count(&memory)), (1, 2));
    assert_eq!(elements::<f32>(shared), [1.0, 2.0]);
    assert_eq!((drops.load(Ordering::Relaxed), Arc::strong_count(&memory)), (1, 1));
}

/// Variants whose owners have a known type, others, and more variants than one type names.
#[test]
fn each_variant_is_shared_in_the_same_memory() {
    macro_rules! many {
        ($($name:ident),+) => {
            #[derive(Storage)]
            #[dlpack(crate = ::tensors)]
            enum Many {
                $($name(Arc<[u8]>),)+
            }

            $({
                let memory: Arc<[u8]> = Arc::from([7, 8]);
                let shared = tensor(Many::$name(Arc::clone(&memory)), 2).to_dlpack();
                assert_eq!(shared.expect("a tensor").data_ptr(), memory.as_ptr());
            })+
        };
    }

    #[derive(Storage)]
    #[dlpack(crate = ::tensors)]
    enum Mixed<T: tensors::AnyBits> {
        Frozen(Arc<[T]>),
        Alone(Vec<T>),
        Shared(SharedBuffer<T>),
        Boxed(Box<Arc<[T]>>),
        #[dlpack(skip)]
        Nothing,
    }

    many!(A, B, C, D, E, F, G, H, I, J, K);
    {
        many!(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P);
    }
    let memory: Arc<[i16]> = Arc::from([1, 2]);
    for mixed in [Mixed::Frozen(Arc::clone(&memory)), Mixed::Boxed(Box::new(Arc::clone(&memory)))] {
        // The owner that shares the memory can share it again.
        let owner = mixed.share().and_then(|owner| owner.share()).expect("an owner");
        assert_eq!(owner.data().as_ptr(), memory.as_ptr().cast());
        let shared = tensor(mixed, 2).to_dlpack().expect("a tensor");
        assert_eq!(shared.data_ptr(), memory.as_ptr().cast());
    }
    let buffer = SharedBuffer::from_slice(&[1_i16, 2]).expect("memory");
    let shared = tensor(Mixed::Shared(buffer.clone()), 2).to_dlpack().expect("a tensor");
    assert_eq!(shared.data_ptr(), buffer.data().as_ptr());
    assert!(!shared.is_read_only());
    let refused = |mixed: Mixed<i16>| tensor(mixed, 0).to_dlpack().map(|_| ());
    assert_eq!(refused(Mixed::Alone(vec![])), Err(Error::NotShareable));
    assert_eq!(refused(Mixed::Nothing), Err(Error::NoStorage { variant: "Nothing" }));
}

/// The bounds of the enum say no more than a storage needs, so an owner of unknown lifetime is
/// shared as a type-erased one.
#[test]
fn enums_of_generic_owners_are_storages() {
    #[derive(Storage)]
    #[dlpack(crate = ::tensors)]
    enum Generic<T: Storage + Send + Sync> {
        Shared(Arc<T>),
        #[expect(dead_code, reason = "the enum has several variants")]
        Alone(Vec<f32>),
    }

    #[derive(Storage)]
    #[dlpack(crate = ::tensors)]
    #[expect(dead_code, reason = "it must compile")]
    enum Borrowed<'a, S: Storage + Send + Sync + 'a> {
        Lent(&'a S),
        Shared(Arc<[f32]>),
        Buffer(SharedBuffer<f32>),
    }

    let memory = Arc::new(vec![1.0_f32, 2.0]);
    let shared = tensor(Generic::Shared(Arc::clone(&memory)), 2).to_dlpack().expect("a tensor");
    assert_eq!(shared.data_ptr(), memory.as_ptr().cast());
}
