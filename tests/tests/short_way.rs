//! Which tensors are exported without being described in words, and in which wrappings:
//! the long way comes to the same tensor, so a short one that is lost is not seen in it.

use core::sync::atomic::Ordering;
use std::sync::Arc;

use dlpack_tests::in_words::InWords;
use tensors::{
    AsDims, DLPackExport, DataType, Dims, Element, Error, Foreign, Imported, ManagedTensor, Order,
    Shared, SharedBuffer,
};

const SIX: [i32; 6] = [0, 1, 2, 3, 4, 5];

/// Exports a tensor in every way and wrapping, and names those that described it.
fn described<T: DLPackExport + Send + Sync + 'static>(make: impl Fn() -> T) -> Vec<&'static str> {
    type Ways = Vec<&'static str>;
    type Export<'a, T> = &'a dyn Fn(InWords<T>) -> Result<ManagedTensor, Error>;

    fn note<T: DLPackExport>(ways: &mut Ways, name: &'static str, tensor: T, export: Export<T>) {
        let tensor = InWords::new(tensor);
        let count = Arc::clone(&tensor.described);
        drop(export(tensor).unwrap());
        if count.load(Ordering::SeqCst) != 0 {
            ways.push(name);
        }
    }

    let mut ways = Ways::new();
    note(&mut ways, "moved", make(), &|tensor| tensor.into_dlpack());
    note(&mut ways, "in a box", make(), &|tensor| Box::new(tensor).into_dlpack());
    note(&mut ways, "in an arc", make(), &|tensor| Arc::new(tensor).into_dlpack());
    note(&mut ways, "lent in place", make(), &|tensor| Shared::new(tensor)?.to_dlpack());
    note(&mut ways, "lent in a packet", make(), &|tensor| {
        let tensor = Shared::new(tensor)?;
        let _in_place = tensor.to_dlpack()?;
        tensor.to_dlpack()
    });
    note(&mut ways, "lent by what it is in", make(), &|tensor| {
        Shared::new(Shared::new(tensor)?)?.to_dlpack()
    });
    if make().share().is_some() {
        note(&mut ways, "shared", make(), &|tensor| tensor.to_dlpack());
        note(&mut ways, "shared from a box", make(), &|tensor| Box::new(tensor).to_dlpack());
        note(&mut ways, "shared from an arc", make(), &|tensor| Arc::new(tensor).to_dlpack());
    } else {
        let legacy = InWords::new(make());
        let count = Arc::clone(&legacy.described);
        drop(legacy.into_dlpack_legacy());
        if count.load(Ordering::SeqCst) != 0 {
            ways.push("legacy");
        }
    }
    ways
}

/// A tensor of the derive, with a shape of any type.
#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
struct Array<S, D: ?Sized> {
    data: S,
    shape: D,
}

/// Elements of any storage and lists of any kind, up to eight dimensions.
#[test]
fn plain_tensors_take_it() {
    fn check<D: AsDims + Send + Sync + 'static>(shape: impl Fn() -> D) {
        let none: [&str; 0] = [];
        assert_eq!(described(|| Array { data: SIX.to_vec(), shape: shape() }), none);
        assert_eq!(described(|| Array { data: SIX, shape: shape() }), none);
        let data = Arc::<[i32]>::from(SIX);
        let shared = || Array { data: Arc::clone(&data), shape: shape() };
        assert_eq!(described(shared), none);
        assert_eq!(described(|| Box::new(shared())), none);
        assert_eq!(described(|| Arc::new(shared())), none);
        assert_eq!(described(|| Shared::new(shared()).unwrap()), none);
        let data = SharedBuffer::from_slice(&SIX).unwrap();
        assert_eq!(described(|| Array { data: data.clone(), shape: shape() }), none);
        // What another library made is foreign when it comes, and plain when it goes on.
        let foreign = || Foreign::<i32>::new(shared().into_dlpack()?.import()?);
        assert_eq!(described(|| Array { data: foreign().unwrap(), shape: shape() }), none);
    }
    check(|| [2_usize, 3]);
    check(|| [6_u8]);
    check(|| [2_i64, 3]);
    check(|| [0_usize; 0]);
    check(|| vec![1_u32, 6]);
    check(|| vec![3_isize, 2]);
    check(|| Box::<[i64]>::from([2, 1, 1, 1, 1, 1, 1, 3]));
    check(|| Arc::<[u16]>::from([2, 1, 1, 1, 1, 1, 1, 3]));
    check(|| &[2_i128, 3]);
    check(|| &[5_u64][..]);
    check(|| Dims::borrowed(&[2, 3]));
}

/// So do shapes that are listed, and newtypes.
#[test]
fn plain_tensors_without_a_field_for_the_shape_take_it() {
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, shape(height, 3))]
    struct Listed {
        data: Vec<i32>,
        height: u8,
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, shape(2, 3))]
    struct Constant {
        data: Arc<[i32]>,
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, transparent)]
    struct Around(Listed);

    let none: [&str; 0] = [];
    let listed = || Listed { data: SIX.to_vec(), height: 2 };
    assert_eq!(described(listed), none);
    assert_eq!(described(|| Around(listed())), none);
    assert_eq!(described(|| Constant { data: Arc::from(SIX) }), none);
}

/// The ways of what has another owner.
const SHARED: [&str; 3] = ["shared", "shared from a box", "shared from an arc"];

/// Six numbers of another library.
fn at_an_odd_address() -> Foreign {
    let bytes = Array { data: vec![0_u8; 25], shape: [6_u8] };
    let managed = bytes.into_dlpack().unwrap().into_raw();
    // SAFETY: the struct is alive, and nobody else has it.
    let tensor = unsafe { &mut (*managed).dl_tensor };
    let skipped = usize::from(tensor.data.addr() % 2 == 0);
    tensor.data = tensor.data.wrapping_byte_add(skipped);
    tensor.dtype = DataType::I32.into();
    // SAFETY: 1. to 3. It is a struct of this crate, which nobody else has. 4. and 5. Six
    // numbers end where the 25 bytes do, or before.
    Foreign::new(unsafe { Imported::from_raw(managed) }.unwrap()).unwrap()
}

/// What has more to say is described in every way: nine dimensions, no elements, ...
#[test]
fn other_tensors_are_described() {
    #[derive(Clone, Copy, Element)]
    #[dlpack(crate = tensors)]
    #[repr(transparent)]
    struct Pair([i32; 2]);
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Ordered {
        data: Vec<i32>,
        shape: [u8; 2],
        #[dlpack(order)]
        order: Order,
    }

    let all = ["moved", "in a box", "in an arc", "lent in place", "lent in a packet"];
    let all = [&all[..], &["lent by what it is in", "legacy"]].concat();
    assert_eq!(described(|| Array { data: SIX.to_vec(), shape: [1_u8; 9] }), all);
    assert_eq!(described(|| Array { data: SIX.to_vec(), shape: [2_u8, 0] }), all);
    assert_eq!(described(|| Array { data: vec![Pair([0, 1])], shape: [1_u8] }), all);
    let order = Order::RowMajor;
    // What another library made may lie as the short way cannot say.
    let ways = described(|| Array { data: at_an_odd_address(), shape: [6_u8] });
    assert_eq!(ways, [&all[..all.len() - 1], &SHARED].concat());
    assert_eq!(described(|| Ordered { data: SIX.to_vec(), shape: [2, 3], order }), all);
}
