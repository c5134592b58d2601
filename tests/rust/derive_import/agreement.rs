//! `accepts` decides as `from_dlpack` does, for random layouts and element types: an enum imports
//! into the first variant that accepts, so a variant that accepts and then fails hides the others.

use core::fmt::Debug;
use std::sync::Arc;

use dlpack_tests::random::Random;
use tensors::{
    AsLayout, DLPackImport, DataType, Flags, FromLayout, ImportedStorage, ImportedTensor, Order,
    SharedBuffer,
};

use super::forge::Forged;
use super::{built, bytes, refused};

#[derive(Clone, Copy, Debug, PartialEq, tensors::Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(transparent)]
struct Rgb([u8; 3]);

macro_rules! importable {
    ($($(#[$attr:meta])* $name:ident { $($(#[$role:meta])* $field:ident: $type:ty),+ })+) => {$(
        #[derive(Debug, DLPackImport)]
        #[dlpack(crate = ::tensors)]
        $(#[$attr])*
        #[allow(dead_code, reason = "nothing but whether it can be made matters")]
        struct $name { $($(#[$role])* $field: $type),+ }
    )+};
}

importable! {
    Rows { #[dlpack(copy)] data: Vec<Rgb>, shape: [usize; 2] }
    Arrays { #[dlpack(copy)] data: Vec<[u16; 3]>, shape: Vec<usize> }
    #[dlpack(order = column_major)]
    Columns { #[dlpack(copy)] data: Arc<[Rgb]>, shape: Vec<usize> }
    #[dlpack(order = column_major)]
    Turned { #[dlpack(copy)] data: Box<[u16]>, shape: Vec<usize> }
    Bools { #[dlpack(copy)] data: Arc<[bool]>, shape: [u8; 3] }
    #[dlpack(shape(height, width))]
    Shared { #[dlpack(copy)] data: SharedBuffer<u16>, height: i8, width: i8 }
    #[dlpack(shape(side, side))]
    Square { #[dlpack(copy)] data: [u16; 4], side: usize }
    Fixed { #[dlpack(copy)] data: Arc<[u8; 4]>, shape: Vec<usize>, dtype: DataType }
    Bytes { #[dlpack(copy)] data: Vec<u8>, shape: Vec<usize>, dtype: DataType }
    #[dlpack(order = column_major)]
    ByteColumns { #[dlpack(copy)] data: SharedBuffer<u8>, shape: Vec<usize>, dtype: DataType }
    #[dlpack(padded)]
    Padded { #[dlpack(copy)] data: Vec<u8>, shape: Vec<usize>, dtype: DataType }
    Steps {
        data: ImportedStorage, shape: Vec<usize>, #[dlpack(strides(bytes))] strides: Vec<i8>,
        #[dlpack(offset(elements))] start: u16, dtype: DataType
    }
    Unsigned { data: ImportedStorage<Rgb>, shape: Vec<u8>, strides: Vec<u8>, byte_offset: u8 }
    Pitched {
        data: ImportedStorage<u16>, shape: [usize; 2], #[dlpack(order)] order: Order,
        #[dlpack(pitch(bytes))] pitch: i8, #[dlpack(len(bytes))] len: u8
    }
    Nested { data: ImportedStorage, #[dlpack(layout)] layout: Columned, dtype: DataType }
    NestedCopy { #[dlpack(copy)] data: Vec<Rgb>, #[dlpack(layout)] layout: Columned }
}

#[derive(Debug, AsLayout, FromLayout)]
#[dlpack(crate = ::tensors, order = column_major)]
struct Columned {
    shape: Vec<i8>,
}

/// Each can be made of tensors that none of the variants before it accepts.
#[derive(Debug, DLPackImport)]
#[dlpack(crate = ::tensors)]
#[expect(dead_code, reason = "nothing but which variant it is matters")]
enum Any {
    Unsigned(Unsigned),
    Columns(Columns),
    Rows(Rows),
    Pitched(Pitched),
    Steps(Steps),
    Bytes(Bytes),
}

type Check = fn(&Forged) -> bool;

/// The middle of the memory, where the first element is.
const FIRST: usize = 1024;

/// The strides of elements without gaps, in a random order of the axes.
fn dense(random: &mut Random, shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![0; shape.len()];
    let mut left: Vec<usize> = (0..shape.len()).collect();
    let mut step = 1;
    while !left.is_empty() {
        let axis = left.remove(random.below(left.len()));
        strides[axis] = step;
        step *= shape[axis];
    }
    strides
}

/// A random tensor, all of whose elements are in its memory.
fn random(random: &mut Random) -> Forged {
    let dtypes = [DataType::U8, DataType::U16, DataType::BOOL, DataType::U8.with_lanes(3)];
    let narrow = [DataType::FLOAT4_E2M1FN, DataType::FLOAT4_E2M1FN.with_lanes(2)];
    let dtype = random.pick(&[&dtypes[..], &dtypes, &dtypes, &narrow].concat());
    let rank = random.below(4);
    let largest = if random.one_in(8) { 200 } else { 3 };
    let mut shape: Vec<i64> = (0..rank).map(|_| random.within(1..=largest)).collect();
    let mut strides = if random.one_in(4) {
        (0..rank).map(|_| random.within(-7..=7)).collect()
    } else {
        dense(random, &shape)
    };
    if rank > 0 && random.one_in(2) {
        shape[rank - 1] = 3;
        strides[rank - 1] = random.pick(&[1, 1, 4, -1]);
    }
    if rank > 0 && random.one_in(12) {
        shape[random.below(rank)] = 0;
    }
    let reach: i64 = shape.iter().zip(&strides).map(|(dim, stride)| (dim * stride).abs()).sum();
    if reach * 3 >= 1024 {
        strides.fill(0);
    }
    let flags = random.pick(&[Flags::NONE, Flags::NONE, Flags::IS_SUBBYTE_TYPE_PADDED]);
    let bytes =
        (0..2 * FIRST).map(|at| if dtype == DataType::BOOL { 1 } else { at.to_le_bytes()[0] });
    Forged { dtype, flags, data: Some(FIRST), bytes: bytes.collect(), ..super::bytes(&shape) }
        .strided(&strides, 0)
}

/// Compares both decisions. Returns whether the value was made.
fn agree<T: DLPackImport + Debug>(case: &Forged) -> bool {
    let accepted = T::accepts(&case.imported());
    let made = built::<T>(case);
    match (&accepted, &made) {
        (Ok(()), Ok(_)) => true,
        (Err(accepts), Err(made)) if accepts == made => false,
        _ => panic!("{case:?}: accepts {accepted:?}, made {made:?}"),
    }
}

#[test]
fn accepts_and_from_dlpack_agree_for_random_layouts_and_types() {
    let mut numbers = Random::new(1);
    let checks: [(&str, Check); 17] = [
        ("Rows", agree::<Rows>),
        ("Columns", agree::<Columns>),
        ("Turned", agree::<Turned>),
        ("Bools", agree::<Bools>),
        ("Shared", agree::<Shared>),
        ("Square", agree::<Square>),
        ("Arrays", agree::<Arrays>),
        ("Fixed", agree::<Fixed>),
        ("Bytes", agree::<Bytes>),
        ("ByteColumns", agree::<ByteColumns>),
        ("Padded", agree::<Padded>),
        ("Steps", agree::<Steps>),
        ("Unsigned", agree::<Unsigned>),
        ("Pitched", agree::<Pitched>),
        ("Nested", agree::<Nested>),
        ("NestedCopy", agree::<NestedCopy>),
        ("Any", agree::<Any>),
    ];
    let mut made = [[0; 2]; 17];
    for _ in 0..if cfg!(miri) { 4 } else { 1000 } {
        let case = random(&mut numbers);
        for ((_, check), made) in checks.iter().zip(&mut made) {
            made[usize::from(check(&case))] += 1;
        }
    }
    for ((name, _), [refused, made]) in checks.iter().zip(made) {
        assert!(cfg!(miri) || (refused > 0 && made > 0), "{name}: {refused} refused, {made} made");
    }
}

/// The bytes of the memory at an index.
fn pixel(case: &ImportedTensor, index: [usize; 2]) -> Rgb {
    let part = |part| case.elements::<u8>().unwrap().load(&[index[0], index[1], part]).unwrap();
    Rgb([part(0), part(1), part(2)])
}

#[test]
fn arrays_with_any_strides_are_copied_in_column_major_order() {
    // A planar image.
    let planar = Forged { bytes: (0..12).collect(), ..bytes(&[2, 2, 3]) }.strided(&[2, 1, 4], 0);
    let columns: Columns = built(&planar).unwrap();
    let tensor = planar.imported();
    let expected = [[0, 0], [1, 0], [0, 1], [1, 1]].map(|index| pixel(&tensor, index));
    assert_eq!(columns.data[..], expected);
    let nested: NestedCopy = built(&planar).unwrap();
    assert_eq!((nested.layout.shape, &nested.data[..]), (vec![2, 2], &expected[..]));
    let any: Any = built(&planar).unwrap();
    assert!(matches!(any, Any::Columns(_)), "{any:?}");
}

/// An enum uses the next variant for a number that does not fit, and for parts of bytes.
#[test]
fn numbers_that_do_not_fit_are_refused_before_the_tensor_is_taken() {
    let long = Forged { bytes: vec![0; 900], ..bytes(&[300, 1, 3]) };
    let text = refused::<Unsigned>(&long);
    assert!(text.contains("dimension 0"), "{text}");
    assert!(matches!(built(&long).unwrap(), Any::Columns(_)));
    let dtype = DataType::FLOAT4_E2M1FN;
    let gaps = Forged { dtype, bytes: vec![0; 12], ..bytes(&[2, 2]) }.strided(&[4, 1], 0);
    let text = refused::<Bytes>(&gaps);
    assert!(text.contains("row-major"), "{text}");
    assert!(refused::<ByteColumns>(&gaps).contains("column-major"));
}
