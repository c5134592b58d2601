//! Parts of the layout that the struct states: calls, paths and constants.

use std::sync::Arc;

use tensors::{
    AsLayout, DLPackExport, DLPackImport, DataType, Device, Error, FromLayout, ImportError,
    ImportedStorage, ImportedTensor, MetadataField, MismatchKind, Order,
};

/// As `tract_data::tensor::Tensor`: all parts in one type of another crate.
mod theirs {
    #[derive(Clone, Copy)]
    pub(crate) enum Kind {
        F32,
        U8,
        Blob,
    }

    pub(crate) struct Tensor {
        pub(crate) values: Vec<f32>,
        pub(crate) shape: Vec<usize>,
        pub(crate) strides: Vec<isize>,
        pub(crate) kind: Kind,
    }

    impl Tensor {
        pub(crate) fn as_bytes(&self) -> &[u8] {
            bytemuck::cast_slice(&self.values)
        }

        pub(crate) fn shape(&self) -> &[usize] {
            &self.shape
        }

        pub(crate) fn strides(&self) -> &[isize] {
            &self.strides
        }
    }
}

use theirs::{Kind, Tensor};

fn to_dtype(kind: Kind) -> Result<DataType, Error> {
    match kind {
        Kind::F32 => Ok(DataType::F32),
        Kind::U8 => Ok(DataType::U8),
        Kind::Blob => Err(Error::Custom("no elements")),
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
#[dlpack(shape = self.0.shape(), strides = self.0.strides(), dtype = to_dtype(self.0.kind))]
struct Wrapped(#[dlpack(slice = u8, with = Tensor::as_bytes, shared)] Arc<Tensor>);

fn wrapped(kind: Kind, strides: &[isize]) -> Wrapped {
    let (values, shape) = (vec![0.0; 6], vec![2, 3]);
    Wrapped(Arc::new(Tensor { values, shape, strides: strides.to_vec(), kind }))
}

#[test]
fn one_value_gives_all_parts() {
    let tensor = wrapped(Kind::F32, &[1, 2]);
    let exported = tensor.to_dlpack().unwrap();
    assert_eq!((exported.shape(), exported.strides()), (&[2, 3][..], &[1, 2][..]));
    assert_eq!(exported.dtype(), DataType::F32);
    assert_eq!(exported.data_ptr(), tensor.0.as_bytes().as_ptr());
    assert_eq!(tensor.into_dlpack().unwrap().strides(), [1, 2]);
}

#[test]
fn values_are_validated() {
    let wide = wrapped(Kind::F32, &[4, 1]).to_dlpack().unwrap_err();
    assert_eq!(wide, Error::OutOfBounds { start: 0, end: 28, len: 24 });
    let rank = wrapped(Kind::U8, &[1]).to_dlpack().unwrap_err();
    assert_eq!(rank, Error::RankMismatch { shape: 2, strides: 1 });
    let kind = wrapped(Kind::Blob, &[3, 1]).to_dlpack().unwrap_err();
    assert_eq!(kind, Error::Custom("no elements"));
}

#[derive(Clone, Copy, DataType)]
#[dlpack(crate = tensors)]
enum Own {
    I16,
    #[dlpack(skip)]
    Text,
}

#[derive(Clone, Copy)]
struct Fortran(bool);

impl From<Fortran> for Order {
    fn from(Fortran(fortran): Fortran) -> Self {
        if fortran { Self::ColumnMajor } else { Self::RowMajor }
    }
}

/// Every part, some in fields of a field.
#[derive(DLPackExport)]
#[dlpack(crate = tensors, shape = self.meta.dims, ndim = self.meta.rank())]
#[dlpack(order = self.meta.order.into(), offset(elements) = 1, len(bytes) = self.meta.len)]
#[dlpack(dtype = self.meta.own.try_into(), device = Self::host())]
struct Parts {
    #[dlpack(slice = u8, with = bytes_of)]
    data: Vec<u16>,
    meta: Meta,
}

/// Bytes that are aligned for two of them.
#[expect(clippy::ptr_arg, reason = "it takes the field")]
fn bytes_of(numbers: &Vec<u16>) -> &[u8] {
    bytemuck::cast_slice(numbers)
}

struct Meta {
    dims: [i32; 4],
    order: Fortran,
    own: Own,
    len: u64,
}

impl Meta {
    fn rank(&self) -> u8 {
        u8::try_from(self.dims.iter().filter(|dim| **dim != 0).count()).unwrap()
    }
}

impl Parts {
    fn host() -> Device {
        Device::CPU
    }
}

#[test]
fn every_part_can_be_a_call() {
    let parts = |own, len, fortran| {
        let meta = Meta { dims: [2, 3, 0, 0], order: Fortran(fortran), own, len };
        Parts { data: vec![0; 7], meta }
    };
    let parts_of = parts(Own::I16, 12, true);
    let start = bytes_of(&parts_of.data).as_ptr();
    let tensor = parts_of.into_dlpack().unwrap();
    assert_eq!((tensor.shape(), tensor.strides()), (&[2, 3][..], &[1, 2][..]));
    assert_eq!((tensor.dtype(), tensor.data_ptr()), (DataType::I16, start.wrapping_add(2)));
    assert_eq!(parts(Own::I16, 12, false).into_dlpack().unwrap().strides(), [3, 1]);
    let text = parts(Own::Text, 12, true).into_dlpack().unwrap_err();
    assert_eq!(text, Error::NoDType { variant: "Text" });
    let window = Error::OutsideWindow { start: 2, end: 14, from: 2, to: 12 };
    assert_eq!(parts(Own::I16, 10, true).into_dlpack().unwrap_err(), window);
}

/// A name is a field, which then has the role, also for imports.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = tensors, shape = dims, pitch(bytes) = row, order = column_major)]
struct Named {
    data: ImportedStorage<u16>,
    dims: [usize; 2],
    row: usize,
}

#[derive(DLPackExport)]
#[dlpack(crate = tensors, shape(rows, 3), pitch(bytes) = Self::PITCH)]
struct Rows {
    data: Vec<u16>,
    rows: usize,
}

impl Rows {
    const PITCH: u8 = 8;
}

fn rows(rows: usize) -> ImportedTensor {
    let tensor = Rows { data: vec![0; 4 * rows], rows };
    tensor.into_dlpack().unwrap().import().unwrap()
}

#[test]
fn a_constant_pitch_and_a_name() {
    assert_eq!(rows(2).strides(), [4, 1]);
    let columns = rows(2).permute(&[1, 0]).unwrap();
    let named = Named::from_dlpack(columns).unwrap();
    assert_eq!((named.dims, named.row), ([3, 2], 8));
    assert_eq!(named.into_dlpack().unwrap().strides(), [1, 4]);
}

#[derive(DLPackImport)]
#[dlpack(crate = tensors, shape(_, 3), pitch(bytes) = 8, offset(elements) = Self::START)]
struct Padded {
    data: ImportedStorage<u16>,
}

impl Padded {
    const START: i8 = 0;
}

#[derive(DLPackImport)]
#[dlpack(crate = tensors, shape(_, _), strides(3, 1), len(elements) = 6)]
struct Exact(#[dlpack(data)] ImportedStorage<u16>);

fn number(error: &ImportError) -> (MetadataField, i64, i64) {
    let ImportError::Mismatch(mismatch) = error else { panic!("{error}") };
    match *mismatch.unmet() {
        MismatchKind::Number { number, needed, found, .. } => (number, needed, found),
        ref other => panic!("{other}"),
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
struct Plain {
    data: Vec<u16>,
    shape: Vec<usize>,
    strides: Vec<isize>,
    #[dlpack(offset(elements))]
    start: usize,
}

fn plain(shape: &[usize], strides: &[isize], start: usize) -> ImportedTensor {
    let (shape, strides) = (shape.to_vec(), strides.to_vec());
    let plain = Plain { data: vec![0; 24], shape, strides, start };
    plain.into_dlpack().unwrap().import().unwrap()
}

#[test]
fn a_constant_number_is_a_requirement() {
    assert!(Padded::from_dlpack(rows(2)).is_ok());
    let contiguous = plain(&[2, 3], &[3, 1], 0);
    assert!(Padded::accepts(&contiguous).is_err());
    let error = Padded::from_dlpack(contiguous).map(|padded| padded.data).unwrap_err();
    assert_eq!(number(&error), (MetadataField::Pitch, 8, 6));
    assert_eq!(error.to_string(), "`Padded`: expected the pitch to be 8 bytes, got 6");
    let longer = Exact::from_dlpack(plain(&[3, 3], &[3, 1], 0)).map(|exact| exact.0).unwrap_err();
    assert_eq!(number(&longer), (MetadataField::Len, 6, 9));
    assert!(Exact::accepts(&plain(&[2, 3], &[3, 1], 0)).is_ok());
    // No element depends on the pitch.
    assert!(Padded::accepts(&plain(&[1, 3], &[3, 1], 0)).is_ok());
    assert!(Padded::accepts(&plain(&[0, 3], &[3, 1], 0)).is_ok());
}

/// Elements from the third byte on.
#[derive(DLPackImport)]
#[dlpack(crate = tensors, offset(bytes) = 2)]
struct Behind {
    data: ImportedStorage<u16>,
    shape: Vec<usize>,
    strides: Vec<isize>,
}

#[test]
fn without_elements_a_length_is_compared_and_an_offset_is_not() {
    let empty = Exact::from_dlpack(plain(&[0, 3], &[3, 1], 0)).map(|exact| exact.0).unwrap_err();
    assert_eq!(number(&empty), (MetadataField::Len, 6, 0));
    let behind = Behind::from_dlpack(plain(&[2, 0], &[3, 1], 0)).unwrap();
    assert_eq!((&behind.shape[..], &behind.strides[..]), (&[2, 0][..], &[3, 1][..]));
    let first = Behind::from_dlpack(plain(&[2, 3], &[3, 1], 0)).map(|it| it.data).unwrap_err();
    assert_eq!(number(&first), (MetadataField::Offset, 2, 0));
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = tensors, shape = Self::SHAPE, byte_strides = Self::STEPS)]
#[dlpack(offset(bytes) = 2, dtype = Self::DTYPE, device = Device::CPU)]
struct Constant {
    data: ImportedStorage,
}

impl Constant {
    const SHAPE: [u8; 2] = [2, 3];
    const STEPS: &'static [i16] = &[6, -2];
    const DTYPE: DataType = DataType::U16;
}

#[test]
fn constant_lists_are_requirements() {
    let wrong = |shape: &[usize], strides: &[isize], start| {
        let error = Constant::from_dlpack(plain(shape, strides, start)).map(|_| ()).unwrap_err();
        error.to_string()
    };
    assert_eq!(wrong(&[2], &[3], 0), "`Constant`: expected 2 dimensions, got 1");
    assert_eq!(wrong(&[2, 4], &[4, 1], 0), "`Constant`: expected dimension 1 to be 3, got 4");
    let strides = "`Constant`: expected stride 1 to be -2 bytes, got 2";
    assert_eq!(wrong(&[2, 3], &[3, 1], 0), strides);
    // The import begins at its lowest element, which is 4 bytes before the first.
    let offset = "`Constant`: expected the offset to be 2 bytes, got 4";
    assert_eq!(wrong(&[2, 3], &[3, -1], 2), offset);
}

#[derive(DLPackImport)]
#[dlpack(crate = tensors, strides = Self::STRIDES)]
struct Columns {
    #[dlpack(copy)]
    data: Vec<u16>,
    shape: [usize; 2],
}

impl Columns {
    const STRIDES: [usize; 2] = [1, 2];
}

#[derive(DLPackExport)]
#[dlpack(crate = tensors, shape(2, 3))]
struct Matrix(#[dlpack(data)] [u16; 6]);

#[test]
fn a_copy_is_in_the_order_of_constant_strides() {
    let matrix = [1_u16, 2, 3, 4, 5, 6];
    let columns = Columns::from_dlpack(Matrix(matrix).into_dlpack().unwrap().import().unwrap());
    let columns = columns.unwrap();
    assert_eq!((columns.data, columns.shape), (vec![1, 4, 2, 5, 3, 6], [2, 3]));
    let tall = Columns::from_dlpack(plain(&[3, 2], &[2, 1], 0)).map(|_| ()).unwrap_err();
    assert_eq!(tall.to_string(), "`Columns`: expected stride 1 to be 2, got 3");
}

/// The last stride is not larger, or it is a field and the first one is not 1.
#[test]
fn a_copy_is_by_rows_if_constants_do_not_state_columns() {
    #[derive(DLPackImport)]
    #[dlpack(crate = tensors, shape(rows, 3), byte_strides(6, 2))]
    struct Bytes {
        #[dlpack(copy)]
        data: Vec<u16>,
        rows: usize,
    }
    #[derive(DLPackImport)]
    #[dlpack(crate = tensors, shape(rows, 3), strides(3, step))]
    struct Field {
        #[dlpack(copy)]
        data: Vec<u16>,
        rows: usize,
        step: usize,
    }
    let matrix = [1_u16, 2, 3, 4, 5, 6];
    let tensor = || Matrix(matrix).into_dlpack().unwrap().import().unwrap();
    let bytes = Bytes::from_dlpack(tensor()).unwrap();
    assert_eq!((&bytes.data[..], bytes.rows), (&matrix[..], 2));
    let field = Field::from_dlpack(tensor()).unwrap();
    assert_eq!((&field.data[..], field.rows, field.step), (&matrix[..], 2, 1));
}

/// A layout of a field, some of it constant.
#[derive(AsLayout, FromLayout)]
#[dlpack(crate = tensors, shape(width, 3), pitch(elements) = 4)]
struct Place {
    width: usize,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = tensors)]
struct Placed {
    data: ImportedStorage<u16>,
    #[dlpack(layout)]
    place: Place,
}

#[test]
fn a_layout_with_a_constant() {
    let placed = Placed::from_dlpack(rows(2)).unwrap();
    assert_eq!(placed.place.width, 2);
    assert_eq!(placed.into_dlpack().unwrap().strides(), [4, 1]);
    assert!(Placed::accepts(&plain(&[2, 3], &[3, 1], 0)).is_err());
}

/// Parameters, and a constant of one.
trait Format {
    const ROW: usize;
    fn start(self) -> usize;
}

#[derive(Clone, Copy)]
struct Wide;

impl Format for Wide {
    const ROW: usize = 8;

    fn start(self) -> usize {
        2
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = tensors, bound(F: Format + Copy + Send + 'static))]
#[dlpack(shape(2, 3), pitch(elements) = F::ROW, offset(elements) = self.format.start())]
struct Formatted<F> {
    data: Vec<i8>,
    format: F,
}

#[test]
fn constants_of_parameters() {
    let tensor = Formatted { data: vec![0; 16], format: Wide }.into_dlpack().unwrap();
    assert_eq!(tensor.strides(), [8, 1]);
}
