//! Newtypes, enums, storages that are enums, generics.

use core::marker::PhantomData;

use dlpack_tests::counted::Drops;
use tensors::{
    DLPackExport, DLPackImport, DataType, Element, FromDims, ImportStorage, ImportedStorage,
    ImportedTensor, Readable, Storage,
};

use super::forge::{Forged, forged, import};
use super::{built, bytes, imported, refused};

/// A tuple struct, generic over elements and shapes.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Tensor<T: Readable, D: FromDims + tensors::AsDims>(
    #[dlpack(data)] ImportedStorage<T>,
    #[dlpack(shape)] D,
    PhantomData<fn(T)>,
);

/// Sizes that are parameters.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(R, C), order = column_major)]
struct Matrix<T: Readable, const R: usize, const C: usize> {
    #[dlpack(data, copy)]
    columns: Vec<T>,
}

#[test]
fn generic_structs_are_imported() {
    let tensor: Tensor<i32, [u8; 2]> = built(&forged(&[2, 1], &[1, 2])).unwrap();
    assert_eq!((tensor.1, tensor.2), ([2, 1], PhantomData));
    assert_eq!(tensor.into_dlpack().unwrap().shape(), [2, 1]);
    let matrix: Matrix<i32, 2, 3> = built(&forged(&[2, 3], &[0, 1, 2, 3, 4, 5])).unwrap();
    assert_eq!(matrix.columns, [0, 3, 1, 4, 2, 5]);
    let again = import(matrix.into_dlpack().unwrap());
    assert_eq!(again.elements::<i32>().unwrap().to_vec().unwrap(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(
        refused::<Matrix<i32, 3, 2>>(&forged(&[2, 3], &[0; 6])),
        "`Matrix`: expected dimension 0 to be 3, got 2"
    );
}

/// User-written bounds of the parameters.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, bound(T: Readable))]
struct Bounded<T> {
    data: ImportedStorage<T>,
    shape: Vec<i64>,
}

/// A newtype with a check of its own.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, transparent, require(rank = 1), validate = Line::is_short)]
struct Line(Bounded<u8>, #[dlpack(skip, default)] Option<String>);

impl Line {
    fn is_short(&self) -> Result<(), String> {
        match self.0.shape[0] {
            0..5 => Ok(()),
            long => Err(format!("a line has 4 elements at most, not {long}")),
        }
    }
}

/// A newtype with a constructor.
#[derive(DLPackImport)]
#[dlpack(crate = ::tensors, transparent, construct = Pair::new)]
struct Pair {
    inner: Bounded<u8>,
}

impl Pair {
    fn new(inner: Bounded<u8>) -> Result<Self, &'static str> {
        if inner.shape == [2] { Ok(Self { inner }) } else { Err("a pair has two elements") }
    }
}

#[test]
fn newtypes_are_imported() {
    let line: Line = built(&bytes(&[3])).unwrap();
    assert_eq!(line.1, None);
    assert_eq!(line.into_dlpack().unwrap().shape(), [3]);
    assert_eq!(refused::<Line>(&bytes(&[2, 3])), "`Line`: expected 1 dimension, got 2");
    assert_eq!(refused::<Line>(&forged(&[1], &[1])), "`Bounded`: expected uint8, got int32");
    let drops = Drops::new();
    let long = Line::from_dlpack(imported(&bytes(&[5]), &drops)).map(|_| ());
    assert_eq!(long.unwrap_err().to_string(), "a line has 4 elements at most, not 5");
    assert_eq!(drops.count(), 1);
    assert_eq!(built::<Pair>(&bytes(&[2])).unwrap().inner.shape, [2]);
    assert!(built::<Pair>(&bytes(&[3])).is_err());
}

/// The first variant that accepts.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
enum Column {
    Flat(Tensor<i32, [usize; 1]>),
    #[dlpack(skip)]
    Text(Vec<String>),
    Bytes {
        inner: Bounded<u8>,
        #[dlpack(skip, default)]
        name: String,
    },
    Deep(Tensor<i32, [usize; 2]>),
}

#[derive(DLPackImport)]
#[dlpack(crate = ::tensors)]
enum Only {
    Line(Line),
}

#[derive(DLPackImport)]
#[dlpack(crate = ::tensors, validate = OneOf::check)]
enum OneOf {
    A(ImportedStorage<u8>),
    B(ImportedStorage<f32>),
}

impl OneOf {
    fn check(&self) -> Result<(), &'static str> {
        match self {
            Self::A(bytes) if bytes.imported().ndim() == 0 => Err("no scalars"),
            Self::B(floats) if floats.imported().ndim() == 0 => Err("no scalars"),
            Self::A(_) | Self::B(_) => Ok(()),
        }
    }
}

#[test]
fn enums_are_imported() {
    let column = |forged: &Forged| built::<Column>(forged).unwrap();
    assert!(matches!(column(&forged(&[2], &[0, 0])), Column::Flat(_)));
    assert!(matches!(column(&forged(&[2, 1], &[0, 0])), Column::Deep(_)));
    let Column::Bytes { inner, name } = column(&bytes(&[6])) else { panic!("they are bytes") };
    assert_eq!((inner.shape, name), (vec![6], String::new()));
    let text = Column::Text(vec!["text".to_owned()]);
    assert!(text.tensor().is_err() && matches!(text, Column::Text(lines) if lines.len() == 1));
    assert_eq!(column(&bytes(&[6])).into_dlpack().unwrap().shape(), [6]);
    assert_eq!(
        refused::<Column>(&forged(&[1, 1, 1], &[0])),
        "no variant of `Column` accepts the tensor; `Flat`: `Tensor`: expected 1 dimension, got \
         3; `Bytes`: `Bounded`: expected uint8, got int32; `Deep`: `Tensor`: expected 2 dimensions, got 3"
    );
    let Only::Line(line) = built::<Only>(&bytes(&[2])).unwrap();
    assert_eq!(line.0.shape, [2]);
    let flat = "`Line`: expected 1 dimension, got 2";
    assert_eq!(refused::<Only>(&bytes(&[2, 3])), flat);
    // If only the element type is wrong, it is reported once.
    assert_eq!(
        refused::<OneOf>(&forged(&[1], &[0])),
        "`OneOf`: expected uint8 or float32, got int32"
    );
    assert!(matches!(built::<OneOf>(&bytes(&[6])), Ok(OneOf::A(_))));
    let drops = Drops::new();
    assert!(OneOf::from_dlpack(imported(&bytes(&[]), &drops)).is_err());
    assert_eq!(drops.count(), 1);
}

/// Owned or imported memory, of two types.
#[derive(Storage)]
#[dlpack(crate = ::tensors)]
enum Buffer<T: Element> {
    Own(Vec<T>),
    #[dlpack(import)]
    Foreign(ImportedStorage<T>),
    #[dlpack(import)]
    Bytes {
        bytes: ImportedStorage<u8>,
    },
}

/// A storage around one.
#[derive(Storage)]
#[dlpack(crate = ::tensors)]
struct Held(#[dlpack(import)] Buffer<i32>, PhantomData<u8>);

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Either {
    data: Buffer<i32>,
    shape: Vec<i64>,
}

#[test]
fn storage_enums_are_imported() {
    let either = |forged: &Forged| built::<Either>(forged).unwrap();
    assert!(matches!(either(&forged(&[2], &[0, 0])).data, Buffer::Foreign(_)));
    let Buffer::Bytes { bytes: held } = either(&bytes(&[6])).data else { panic!("bytes") };
    assert_eq!(held.imported().shape(), [6]);
    let drops = Drops::new();
    let tensor = imported(&bytes(&[6]), &drops);
    let address = tensor.data_ptr();
    let again: ImportedTensor = import(Either::from_dlpack(tensor).unwrap().into_dlpack().unwrap());
    assert_eq!((again.data_ptr(), again.dtype()), (address, DataType::U8));
    drop(again);
    assert_eq!(drops.count(), 1);
    assert_eq!(
        refused::<Either>(&Forged { dtype: DataType::F32, ..forged(&[1], &[0]) }),
        "`Either`: expected int32 or uint8, got float32"
    );
    let held = Held::from_imported(imported(&bytes(&[6]), &Drops::new())).unwrap();
    assert_eq!((held.data().byte_len(), held.1), (6, PhantomData));
    let own = Either { data: Buffer::Own(vec![1]), shape: vec![1] };
    assert_eq!(own.into_dlpack().unwrap().dtype(), DataType::I32);
}

/// An event that nothing waits for after an import, and a default of any type.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Tagged<T: Readable, U: Send + 'static> {
    data: ImportedStorage<T>,
    shape: Vec<i64>,
    #[dlpack(sync, default)]
    event: Option<Never>,
    #[dlpack(default)]
    tag: U,
}

enum Never {}

impl tensors::Synchronize for Never {
    fn sync_for(&self, _: tensors::StreamArg<'_>) -> Result<(), tensors::Error> {
        match *self {}
    }
}

#[derive(DLPackImport)]
#[dlpack(crate = ::tensors)]
#[expect(dead_code, reason = "only its import is tested")]
struct Copied {
    #[dlpack(copy)]
    data: Vec<u8>,
    shape: [usize; 1],
}

#[derive(DLPackImport)]
#[dlpack(crate = ::tensors)]
#[expect(dead_code, reason = "only its import is tested")]
struct Taken {
    data: ImportedStorage<f32>,
    shape: [usize; 1],
}

#[derive(DLPackImport)]
#[dlpack(crate = ::tensors)]
#[expect(dead_code, reason = "only its import is tested")]
enum Mixed {
    Copied(Copied),
    Taken(Taken),
}

#[derive(DLPackImport)]
#[dlpack(crate = ::tensors)]
#[expect(dead_code, reason = "only its import is tested")]
enum Both {
    Copied(Copied),
    Again(Copied),
}

/// Whether an import copies the elements: of a type, and of a tensor.
#[test]
fn copies_are_announced() {
    use tensors::{Copies, OwnedTensor};

    assert_eq!((Copied::COPIES, Taken::COPIES), (Copies::Always, Copies::Never));
    assert_eq!((Mixed::COPIES, Both::COPIES), (Copies::Sometimes, Copies::Always));
    assert_eq!(OneOf::COPIES, Copies::Never);
    let tensor = imported(&bytes(&[2]), &Drops::new());
    assert!(Copied::copies(&tensor) && Mixed::copies(&tensor) && Both::copies(&tensor));
    let floats = OwnedTensor::new(vec![1_f32, 2.0], &[2]).unwrap();
    let floats = floats.into_dlpack().unwrap().import().unwrap();
    assert!(!Taken::copies(&floats) && !Mixed::copies(&floats));
}

#[test]
fn parameters_with_defaults_are_imported() {
    let tagged: Tagged<u8, [u16; 2]> = built(&bytes(&[6])).unwrap();
    assert_eq!((tagged.tag, tagged.event.is_none()), ([0, 0], true));
    assert_eq!(tagged.into_dlpack().unwrap().shape(), [6]);
}
