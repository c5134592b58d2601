//! `slice = TYPE`: owners of other crates that lend a slice, without a `Storage` of their own.

use core::cell::Cell;
use core::fmt::Debug;
use core::ops::Deref;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use tensors::{DLPackExport, DataType, Error, Flags, Lanes};

/// Types as another crate has them: no trait of this crate, and no constructor but its own.
mod theirs {
    use core::ops::Deref;
    use std::sync::Arc;

    /// As `image::ImageBuffer`: `Deref` to a slice, and methods for its sizes.
    pub(crate) struct Image {
        pixels: Vec<u8>,
        width: u32,
    }

    impl Image {
        pub(crate) fn new(width: u32, pixels: Vec<u8>) -> Self {
            Self { pixels, width }
        }

        pub(crate) fn width(&self) -> u32 {
            self.width
        }

        pub(crate) fn height(&self) -> u32 {
            u32::try_from(self.pixels.len()).unwrap() / self.width / 3
        }
    }

    impl Deref for Image {
        type Target = [u8];

        fn deref(&self) -> &[u8] {
            &self.pixels
        }
    }

    /// As `nalgebra::DMatrix`: a method that lends a slice.
    pub(crate) struct Matrix {
        columns: Vec<f64>,
        nrows: usize,
    }

    impl Matrix {
        pub(crate) fn new(nrows: usize, columns: Vec<f64>) -> Self {
            Self { columns, nrows }
        }

        pub(crate) fn nrows(&self) -> usize {
            self.nrows
        }

        pub(crate) fn ncols(&self) -> usize {
            self.columns.len() / self.nrows
        }

        pub(crate) fn as_slice(&self) -> &[f64] {
            &self.columns
        }
    }

    /// As `arrow_buffer::ScalarBuffer`: a count, and a part of the memory.
    #[derive(Clone)]
    pub(crate) struct Buffer {
        all: Arc<[f32]>,
        start: usize,
    }

    impl Buffer {
        pub(crate) fn new(all: &[f32]) -> Self {
            Self { all: all.into(), start: 0 }
        }

        pub(crate) fn from(&self, start: usize) -> Self {
            Self { all: Arc::clone(&self.all), start: self.start + start }
        }
    }

    impl AsRef<[f32]> for Buffer {
        fn as_ref(&self) -> &[f32] {
            &self.all[self.start..]
        }
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = tensors, shape(self.image.height(), self.image.width(), 3))]
struct Photo {
    #[dlpack(data, slice = u8)]
    image: theirs::Image,
}

/// `Deref`, and dimensions that methods compute.
#[test]
fn image_of_another_crate_is_exported_zero_copy() {
    let photo = Photo { image: theirs::Image::new(2, vec![7; 18]) };
    let address = photo.image.as_ptr();
    assert_eq!(photo.tensor().unwrap().shape(), [3, 2, 3]);
    assert_eq!(photo.to_dlpack().unwrap_err(), Error::NotShareable);
    let tensor = photo.into_dlpack().unwrap();
    assert_eq!((tensor.data_ptr(), tensor.flags()), (address, Flags::READ_ONLY));
    let tensor = std::thread::spawn(move || tensor.import().unwrap()).join().unwrap();
    assert_eq!(tensor.frozen().unwrap().as_slice::<u8>().unwrap(), [7; 18]);
}

#[derive(DLPackExport)]
#[dlpack(
    crate = tensors,
    shape(self.nrows(), self.matrix.ncols()),
    order = column_major
)]
struct Columns {
    #[dlpack(slice = f64, with = theirs::Matrix::as_slice)]
    matrix: theirs::Matrix,
}

impl Columns {
    fn nrows(&self) -> usize {
        self.matrix.nrows()
    }
}

/// A method lends the slice; `slice` alone makes the field the data.
#[test]
fn matrix_of_another_crate_is_column_major() {
    let matrix = theirs::Matrix::new(2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let address = matrix.as_slice().as_ptr();
    let tensor = Columns { matrix }.into_dlpack().unwrap().import().unwrap();
    assert_eq!((tensor.data_ptr(), tensor.shape()), (address.cast(), &[2, 3][..]));
    assert_eq!(tensor.elements::<f64>().unwrap().load(&[1, 2]), Ok(6.0));
}

#[derive(DLPackExport)]
#[dlpack(crate = tensors, shape(self.values.as_ref().len()))]
struct Shared {
    #[dlpack(data, slice = f32, shared)]
    values: theirs::Buffer,
}

/// A clone owns the same memory, also a part of it.
#[test]
fn shared_owner_outlives_the_object() {
    let values = theirs::Buffer::new(&[1.0, 2.0, 3.0]).from(1);
    let object = Shared { values };
    let tensor = object.to_dlpack().unwrap();
    assert_eq!(tensor.data_ptr(), object.values.as_ref().as_ptr().cast());
    assert_eq!(tensor.flags(), Flags::READ_ONLY);
    drop(object);
    assert_eq!(tensor.import().unwrap().frozen().unwrap().as_slice::<f32>().unwrap(), [2.0, 3.0]);
}

/// Exports an owner by `shared`, and returns the error.
fn share_error<O>(owner: O) -> Error
where
    O: AsRef<[u8]> + Clone + Send + 'static,
{
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, shape(2))]
    struct Claims<O> {
        #[dlpack(data, slice = u8, shared)]
        owner: O,
    }
    Claims { owner }.to_dlpack().unwrap_err()
}

/// `shared` is a claim, which each export checks by the address.
#[test]
fn shared_owner_whose_clone_copies_is_rejected() {
    assert_eq!(share_error(vec![1_u8, 2]), Error::ShareOutOfRange);
    assert_eq!(share_error(Cow::<[u8]>::Owned(vec![1, 2])), Error::ShareOutOfRange);
}

/// An owner that lends another slice at each call, and one whose clone lends a shorter one.
#[test]
fn owners_that_change_their_mind_are_rejected() {
    #[derive(Clone)]
    struct Turns(Arc<[[u8; 2]; 2]>, Cell<usize>);
    impl AsRef<[u8]> for Turns {
        fn as_ref(&self) -> &[u8] {
            self.1.set(self.1.get() + 1);
            &self.0[self.1.get() % 2]
        }
    }
    struct Shrinks(Arc<[u8]>, usize);
    impl Clone for Shrinks {
        fn clone(&self) -> Self {
            Self(Arc::clone(&self.0), 1)
        }
    }
    impl AsRef<[u8]> for Shrinks {
        fn as_ref(&self) -> &[u8] {
            &self.0[..self.1]
        }
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, shape(2))]
    struct Object {
        #[dlpack(data, slice = u8, shared)]
        owner: Turns,
    }
    // An export borrows one slice of the clone and one of the object.
    let turns = Turns(Arc::new([[1, 2], [3, 4]]), Cell::new(0));
    let object = Object { owner: turns };
    for _ in 0..4 {
        match object.to_dlpack() {
            Ok(tensor) => {
                let tensor = tensor.import().unwrap();
                let values = tensor.frozen().unwrap().as_slice::<u8>().unwrap();
                assert!(values == [1, 2] || values == [3, 4]);
            }
            Err(error) => assert_eq!(error, Error::ShareOutOfRange),
        }
    }
    let tensor = object.into_dlpack().unwrap().import().unwrap();
    let values = tensor.frozen().unwrap().as_slice::<u8>().unwrap();
    assert!(values == [1, 2] || values == [3, 4]);
    assert_eq!(share_error(Shrinks(Arc::new([1, 2]), 2)), Error::ShareOutOfRange);
}

/// A panic in the owner's code drops the owner once and passes through.
#[test]
fn panicking_owner_is_dropped_once() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Panics;
    impl Deref for Panics {
        type Target = [u8];
        fn deref(&self) -> &[u8] {
            panic!("no slice today")
        }
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Ordering::Relaxed);
        }
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, shape(2))]
    struct Object {
        #[dlpack(data, slice = u8)]
        owner: Panics,
    }
    let exported = std::panic::catch_unwind(|| Object { owner: Panics }.into_dlpack().is_ok());
    assert!(exported.is_err());
    assert_eq!(DROPS.load(Ordering::Relaxed), 1);
}

/// The types of the standard library and of `bytes`, by `AsRef` and by `Deref`.
#[test]
fn common_owners_lend_slices() {
    macro_rules! exports {
        ($($owner:ty: $element:ty = $value:expr, $expected:expr;)+) => {$({
            #[derive(DLPackExport)]
            #[dlpack(crate = tensors, shape(2))]
            struct Object {
                #[dlpack(data, slice = $element)]
                owner: $owner,
            }
            let tensor = Object { owner: $value }.into_dlpack().unwrap().import().unwrap();
            check::<$element>(tensor.frozen().unwrap().as_slice().unwrap(), &$expected);
        })+};
    }
    fn check<T: PartialEq + Debug>(found: &[T], expected: &[T]) {
        assert_eq!(found, expected);
    }
    exports! {
        Vec<f32>: f32 = vec![1.0, 2.0], [1.0, 2.0];
        Box<[i64]>: i64 = Box::from([1, 2]), [1, 2];
        [u16; 2]: u16 = [1, 2], [1, 2];
        Arc<Vec<i8>>: i8 = Arc::new(vec![1, 2]), [1, 2];
        Arc<[bool]>: bool = Arc::from([true, false]), [true, false];
        &'static [f64]: f64 = &[1.0, 2.0], [1.0, 2.0];
        Cow<'static, [u32]>: u32 = Cow::Borrowed(&[1, 2]), [1, 2];
        String: u8 = String::from("ab"), *b"ab";
        Bytes: u8 = Bytes::from_static(b"ab"), *b"ab";
        Vec<Lanes<f32, 2>>: Lanes<f32, 2> =
            vec![Lanes([1.0, 2.0]), Lanes([3.0, 4.0])], [Lanes([1.0, 2.0]), Lanes([3.0, 4.0])];
    }
}

/// `&'static [T]`, which has no `share` of its own, is shared by its copies.
#[test]
fn static_slice_is_shared() {
    static WEIGHTS: [f32; 2] = [1.5, 2.5];
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, shape(2))]
    struct Weights {
        #[dlpack(data, slice = f32, shared)]
        values: &'static [f32],
    }
    let tensor = Weights { values: &WEIGHTS }.to_dlpack().unwrap();
    assert_eq!(tensor.data_ptr(), WEIGHTS.as_ptr().cast());
}

/// A parameter is bounded by `AsRef`; a borrowed owner can be viewed.
#[test]
fn generic_and_borrowed_owners() {
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Generic<O, T> {
        #[dlpack(data, slice = T)]
        owner: O,
        shape: [usize; 1],
        #[dlpack(skip)]
        _element: core::marker::PhantomData<T>,
    }
    struct Borrowed<'a>(&'a [u8]);
    impl Deref for Borrowed<'_> {
        type Target = [u8];
        fn deref(&self) -> &[u8] {
            self.0
        }
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct View<'a> {
        #[dlpack(data, slice = u8)]
        owner: Borrowed<'a>,
        shape: [usize; 1],
    }
    let object = Generic { owner: vec![1_i32, 2], shape: [2], _element: core::marker::PhantomData };
    assert_eq!(object.into_dlpack().unwrap().dtype(), DataType::I32);

    let bytes = [1, 2, 3];
    let view = View { owner: Borrowed(&bytes), shape: [3] };
    assert_eq!(view.tensor().unwrap().data_ptr(), bytes.as_ptr());
}

/// A type with a comma is one value.
#[test]
fn element_type_may_have_several_parameters() {
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Object {
        #[dlpack(slice = Lanes<f32, 2>, shared)]
        data: Arc<[Lanes<f32, 2>]>,
        shape: [usize; 1],
    }
    let object = Object { data: Arc::new([Lanes([1.0, 2.0])]), shape: [1] };
    assert_eq!(object.to_dlpack().unwrap().dtype(), DataType::F32.with_lanes(2));
}

/// A panic in the code of a clone passes through, drops the clone, and leaves the object as it
/// was.
#[test]
fn panicking_clone_is_dropped_once() {
    static CLONES: AtomicUsize = AtomicUsize::new(0);
    struct Fragile {
        bytes: Arc<[u8]>,
        is_clone: bool,
    }
    impl Clone for Fragile {
        fn clone(&self) -> Self {
            CLONES.fetch_add(1, Ordering::Relaxed);
            Self { bytes: Arc::clone(&self.bytes), is_clone: true }
        }
    }
    impl AsRef<[u8]> for Fragile {
        fn as_ref(&self) -> &[u8] {
            assert!(!self.is_clone, "a clone lends nothing");
            &self.bytes
        }
    }
    impl Drop for Fragile {
        fn drop(&mut self) {
            CLONES.fetch_sub(usize::from(self.is_clone), Ordering::Relaxed);
        }
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, shape(2))]
    struct Object {
        #[dlpack(data, slice = u8, shared)]
        owner: Fragile,
    }
    let object = Object { owner: Fragile { bytes: Arc::new([1, 2]), is_clone: false } };
    let shared = core::panic::AssertUnwindSafe(|| object.to_dlpack().is_ok());
    assert!(std::panic::catch_unwind(shared).is_err());
    assert_eq!(CLONES.load(Ordering::Relaxed), 0);
    assert_eq!(Arc::strong_count(&object.owner.bytes), 1);
    assert_eq!(object.tensor().unwrap().shape(), [2]);
}

/// An owner that exports itself while an export borrows its slice, and one that is not `Sync`.
#[test]
fn owner_may_export_itself_while_it_lends() {
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, shape(self.owner.bytes.len()))]
    struct Object {
        #[dlpack(data, slice = u8, shared)]
        owner: Recursive,
    }
    #[derive(Clone)]
    struct Recursive {
        bytes: Arc<[u8]>,
        depth: Cell<usize>,
        inner: Cell<usize>,
    }
    impl AsRef<[u8]> for Recursive {
        fn as_ref(&self) -> &[u8] {
            if let Some(depth) = self.depth.get().checked_sub(1) {
                self.depth.set(depth);
                let inner = Object { owner: self.clone() }.to_dlpack().unwrap();
                self.inner.set(inner.data_ptr().addr());
            }
            &self.bytes
        }
    }
    let bytes = Arc::<[u8]>::from([1, 2, 3]);
    let owner = Recursive { bytes: Arc::clone(&bytes), depth: Cell::new(2), inner: Cell::new(0) };
    let object = Object { owner };
    let tensor = object.to_dlpack().unwrap();
    assert_eq!(
        (object.owner.inner.get(), tensor.data_ptr()),
        (bytes.as_ptr().addr(), bytes.as_ptr())
    );
    drop(object);
    let tensor = std::thread::spawn(move || tensor.import().unwrap()).join().unwrap();
    assert_eq!(tensor.frozen().unwrap().as_slice::<u8>().unwrap(), [1, 2, 3]);
    drop(tensor);
    assert_eq!(Arc::strong_count(&bytes), 1);
}

/// Fields are dropped in the order of the struct, after the last use of the slice.
#[test]
fn owner_is_dropped_with_the_other_fields_in_their_order() {
    static ORDER: AtomicUsize = AtomicUsize::new(0);
    struct Buffer(Vec<u8>);
    impl AsRef<[u8]> for Buffer {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Buffer {
        fn drop(&mut self) {
            assert_eq!(
                (self.0.as_slice(), ORDER.fetch_add(1, Ordering::Relaxed)),
                (&[1, 2][..], 0)
            );
        }
    }
    struct Pool;
    impl Drop for Pool {
        fn drop(&mut self) {
            assert_eq!(ORDER.fetch_add(1, Ordering::Relaxed), 1);
        }
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, shape(2))]
    struct Object {
        #[dlpack(data, slice = u8)]
        buffer: Buffer,
        #[dlpack(skip)]
        _pool: Pool,
    }
    let object = Object { buffer: Buffer(vec![1, 2]), _pool: Pool };
    let tensor = object.into_dlpack().unwrap().import().unwrap();
    assert_eq!(ORDER.load(Ordering::Relaxed), 0);
    let slice = tensor.into_owned_slice::<u8>().unwrap();
    assert_eq!(*slice, [1, 2]);
    drop(slice);
    assert_eq!(ORDER.load(Ordering::Relaxed), 2);
}
