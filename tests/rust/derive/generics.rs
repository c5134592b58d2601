//! Type and const parameters, lifetimes, `where` clauses, unsized tails.

use core::fmt::Debug;
use core::marker::PhantomData;
use core::ops::Deref;
use std::sync::Arc;

use tensors::{AsDims, Complex, DLPackExport, DataType, Element, Storage};

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Tensor<T: Element, const N: usize> {
    data: Vec<T>,
    shape: [usize; N],
    strides: [isize; N],
}

/// A type parameter stays one for callers.
fn rank<T: Element, const N: usize>(tensor: &Tensor<T, N>) -> usize {
    tensor.tensor().map_or(0, |view| view.ndim())
}

#[test]
fn element_type_and_rank() {
    let matrix = Tensor { data: vec![1.0_f32; 6], shape: [3, 2], strides: [1, 3] };
    assert_eq!(rank(&matrix), 2);
    assert_eq!(matrix.into_dlpack().unwrap().dtype(), DataType::F32);
    let line = Tensor { data: vec![Complex { re: 1.0_f64, im: 0.0 }], shape: [1], strides: [1] };
    assert_eq!(rank(&line), 1);
    assert_eq!(line.into_dlpack().unwrap().dtype(), DataType::COMPLEX128);
}

/// The parameters have no bounds except those that the derive adds.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Bare<S, D, O, K, P>
where
    S: Debug,
{
    data: S,
    shape: D,
    byte_offset: O,
    dtype: K,
    device: P,
}

#[test]
fn every_role_is_a_parameter() {
    let bare = Bare {
        data: Arc::<[u8]>::from([0; 5]),
        shape: vec![2_u8, 2],
        byte_offset: 1_u16,
        dtype: DataType::I8,
        device: tensors::Device::CPU,
    };
    assert_eq!(bare.tensor().unwrap().dtype(), DataType::I8);
    assert_eq!(bare.to_dlpack().unwrap().shape(), [2, 2]);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(M::ROWS, Self::COLUMNS, N))]
struct Model<M: Meta, const N: usize = 2> {
    data: Box<[M::Element]>,
    _model: PhantomData<fn() -> M>,
}

trait Meta {
    type Element: Element;
    const ROWS: u32;
}

impl<M: Meta, const N: usize> Model<M, N> {
    const COLUMNS: i8 = 2;
}

struct Small;

impl Meta for Small {
    type Element = i64;
    const ROWS: u32 = 3;
}

#[test]
fn associated_types_and_constants() {
    let model = Model::<Small> { data: Box::new([0; 12]), _model: PhantomData };
    assert_eq!(model.into_dlpack().unwrap().shape(), [3, 2, 2]);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Window<'a, T: Element, D: AsDims + ?Sized> {
    data: &'a [T],
    shape: &'a D,
    /// Not relevant in a struct that is only viewed.
    _name: std::rc::Rc<str>,
}

#[test]
fn a_borrowed_struct_is_viewed() {
    let samples = [1_u16, 2, 3, 4];
    let shape: &[usize] = &[2, 2];
    let window = Window { data: &samples, shape, _name: "window".into() };
    let view = window.tensor().unwrap();
    assert_eq!(view.data_ptr(), samples.as_ptr().cast());
    assert!(view.is_read_only());
    assert!(!view.dl_tensor().as_raw().is_null());
}

/// Borrows nothing that could end, so it can be exported.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Table {
    data: &'static [f32],
    shape: &'static [i32],
}

#[test]
fn static_data_is_exported() {
    static NUMBERS: [f32; 2] = [0.5, 1.5];
    let tensor = Table { data: &NUMBERS, shape: &[1, 2] }.into_dlpack().unwrap();
    assert_eq!(tensor.data_ptr(), NUMBERS.as_ptr().cast());
    assert_eq!(tensor.flags(), tensors::Flags::READ_ONLY);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Tail<S: Storage + ?Sized> {
    shape: [usize; 1],
    data: S,
}

#[test]
fn the_last_field_may_be_unsized() {
    let tail: Box<Tail<[u8]>> = Box::new(Tail { shape: [3], data: [1, 2, 3] });
    assert_eq!(tail.tensor().unwrap().numel(), 3);
    let tensor = tail.into_dlpack().unwrap();
    assert_eq!(tensor.shape(), [3]);
    let erased: Box<Tail<dyn Storage + Send>> = Box::new(Tail { shape: [1], data: vec![1_u8] });
    assert_eq!(erased.into_dlpack().unwrap().dtype(), DataType::U8);
}

/// A generic type of another crate may be `Deref` only, with any parameters.
#[test]
fn generic_owner_that_derefs() {
    struct Pool<T, A> {
        items: Vec<T>,
        _allocator: A,
    }
    impl<T, A> Deref for Pool<T, A> {
        type Target = [T];
        fn deref(&self) -> &[T] {
            &self.items
        }
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Pooled<T, A> {
        #[dlpack(slice = T)]
        data: Pool<T, A>,
        shape: [usize; 1],
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Listed<T> {
        #[dlpack(slice = T, shared)]
        data: Arc<[T]>,
        shape: [usize; 1],
    }
    let data = Pool { items: vec![1_i32, 2], _allocator: () };
    let tensor = Pooled { data, shape: [2] }.into_dlpack().unwrap();
    assert_eq!((tensor.dtype(), tensor.shape()), (DataType::I32, &[2][..]));
    let listed = Listed { data: Arc::from([1.0_f32]), shape: [1] };
    assert_eq!(listed.to_dlpack().unwrap().data_ptr(), listed.data.as_ptr().cast());
}
