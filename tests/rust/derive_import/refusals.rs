//! Rejected tensors, and the error messages for the user who passed them.

use tensors::ffi;
use tensors::{
    DLPackExport, DLPackImport, DataType, Device, FromLayout, ImportError, ImportedStorage,
    MetadataField, Mismatch, MismatchKind,
};

use super::forge::{Forged, forged};
use super::{built, bytes, refused, text};

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Image {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
}

#[test]
fn other_element_types_and_devices_are_refused() {
    let floats = Forged { dtype: DataType::F32, ..forged(&[1, 1, 2], &[0, 0]) };
    assert_eq!(refused::<Image>(&floats), "`Image`: expected uint8, got float32");
    let cuda = Forged { device: Device::cuda(1), ..bytes(&[1, 2, 3]) };
    assert_eq!(
        refused::<Image>(&cuda),
        "`Image`: expected host memory, got cuda:1; move it to host memory first"
    );
}

#[test]
fn other_ranks_are_refused() {
    assert_eq!(refused::<Image>(&bytes(&[2, 3])), "`Image`: expected 3 dimensions, got 2");
    assert_eq!(refused::<Image>(&bytes(&[6])), "`Image`: expected 3 dimensions, got 1");
    let error = built::<Image>(&bytes(&[2, 3])).map(|_| ()).unwrap_err();
    let unmet = MismatchKind::Rank { needed: vec![3], found: 2 };
    assert_eq!(error, ImportError::Mismatch(Mismatch::new("Image", unmet)));
}

#[derive(DLPackImport)]
#[dlpack(crate = ::tensors, order = row_major)]
struct ByRows {
    #[expect(dead_code, reason = "it is only imported")]
    data: ImportedStorage<u8>,
    #[expect(dead_code, reason = "it is only imported")]
    shape: [usize; 3],
}

#[test]
fn strided_tensors_are_refused_by_a_struct_with_an_order() {
    assert_eq!(
        refused::<ByRows>(&bytes(&[1, 2, 3]).strided(&[1, 1, 2], 0)),
        "`ByRows` has no field for strides: expected contiguous elements in row-major order, got \
         other strides"
    );
    // Strides of dimensions of size 1 are never used.
    assert!(built::<ByRows>(&bytes(&[1, 2, 3]).strided(&[-99, 3, 1], 0)).is_ok());
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, order = column_major)]
struct ByColumns {
    data: ImportedStorage<u8>,
    shape: Vec<u8>,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct AnyOrder {
    data: ImportedStorage<u8>,
    shape: Vec<u8>,
    #[dlpack(order)]
    order: tensors::Order,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Pitched {
    data: ImportedStorage<u8>,
    shape: [u8; 2],
    #[dlpack(pitch(bytes))]
    pitch: u8,
}

#[test]
fn other_orders_and_pitches_are_refused() {
    assert_eq!(
        refused::<ByColumns>(&bytes(&[2, 3])),
        "`ByColumns` has no field for strides: expected contiguous elements in column-major \
         order, got other strides"
    );
    assert_eq!(
        refused::<AnyOrder>(&bytes(&[2]).strided(&[2], 0)),
        "`AnyOrder` has no field for strides: expected contiguous elements, got other strides"
    );
    assert_eq!(
        refused::<Pitched>(&bytes(&[2, 2]).strided(&[1, 2], 0)),
        "`Pitched`: expected elements that are contiguous along every axis but the first in \
         row-major order, got other strides"
    );
    // A row that begins inside of the one before it.
    assert!(built::<Pitched>(&bytes(&[2, 2]).strided(&[1, 1], 0)).is_err());
    assert!(built::<Pitched>(&bytes(&[2, 2]).strided(&[-2, 1], 2)).is_err());
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Strided {
    data: ImportedStorage<u8>,
    shape: [u8; 2],
    strides: [i8; 2],
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Unsigned {
    data: ImportedStorage<u8>,
    shape: [u8; 2],
    strides: Vec<usize>,
    byte_offset: u8,
}

#[test]
fn negative_strides_are_refused_without_an_offset() {
    let flipped = bytes(&[2, 3]).strided(&[-3, 1], 3);
    assert_eq!(
        refused::<Strided>(&flipped),
        "`Strided` has no field for the offset of the first element: expected stride 0 to be at \
         least 0, got -3"
    );
    assert_eq!(
        text(built::<Unsigned>(&flipped)),
        "stride 0 of the tensor is -3, which does not fit in the `usize` of `Unsigned`"
    );
    // An axis of size 1 has no element before the first one.
    assert_eq!(built::<Strided>(&bytes(&[1, 3]).strided(&[-3, 1], 0)).unwrap().strides, [-3, 1]);
}

/// As many strides as the type has, and any number of dimensions.
#[derive(DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Uneven {
    data: ImportedStorage<u8>,
    shape: Vec<u8>,
    strides: [i8; 2],
}

#[test]
fn strides_of_another_rank_are_refused() {
    let uneven = built::<Uneven>(&bytes(&[6]));
    let uneven = uneven.map(|uneven| (uneven.data, uneven.shape, uneven.strides));
    assert_eq!(text(uneven), "`Uneven`: expected 2 dimensions, got 1");
    assert!(built::<Uneven>(&bytes(&[2, 3])).is_ok());
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(rows, 3, Self::DEPTH, rows))]
struct Listed {
    data: ImportedStorage<u8>,
    rows: u8,
}

impl Listed {
    const DEPTH: u64 = 2;
}

/// Dimensions of any size, which no field contains.
#[derive(DLPackImport)]
#[dlpack(crate = ::tensors, shape(_, 3, _))]
struct AnySize {
    data: ImportedStorage<u8>,
}

#[derive(FromLayout)]
#[dlpack(crate = ::tensors, shape(_, 3))]
struct AnyRows {
    byte_offset: usize,
}

#[derive(DLPackImport)]
#[dlpack(crate = ::tensors)]
struct AnyNested {
    data: ImportedStorage<u8>,
    #[dlpack(layout)]
    layout: AnyRows,
}

#[derive(DLPackImport)]
#[dlpack(crate = ::tensors, shape(_, 3))]
struct AnyCopied {
    #[dlpack(copy)]
    data: Vec<u8>,
}

#[test]
fn underscore_accepts_every_size() {
    for (rows, columns) in [(1, 2), (2, 1), (0, 1)] {
        let tensor: AnySize = built(&bytes(&[rows, 3, columns])).unwrap();
        let elements = tensor.data.elements().unwrap();
        assert_eq!(elements.shape(), [rows, 3, columns]);
    }
    let wrong = refused::<AnySize>(&bytes(&[1, 2, 3]));
    assert_eq!(wrong, "`AnySize`: expected dimension 1 to be 3, got 2");
    assert_eq!(refused::<AnySize>(&bytes(&[6])), "`AnySize`: expected 3 dimensions, got 1");

    let nested: AnyNested = built(&bytes(&[2, 3])).unwrap();
    assert_eq!((nested.layout.byte_offset, nested.data.elements().unwrap().len()), (0, 6));
    assert!(refused::<AnyNested>(&bytes(&[3, 2])).contains("expected dimension 1 to be 3, got 2"));

    let copied: AnyCopied = built(&bytes(&[2, 3])).unwrap();
    assert_eq!(copied.data, [0, 1, 2, 3, 4, 5]);
    let wrong = refused::<AnyCopied>(&bytes(&[3, 2]));
    assert_eq!(wrong, "`AnyCopied`: expected dimension 1 to be 3, got 2");
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Roomy {
    data: ImportedStorage<u8>,
    #[dlpack(ndim)]
    ndim: u8,
    shape: [i8; 2],
}

#[test]
fn other_dimensions_are_refused() {
    assert_eq!(refused::<Listed>(&bytes(&[6])), "`Listed`: expected 4 dimensions, got 1");
    assert_eq!(
        refused::<Listed>(&bytes(&[1, 2, 2, 1])),
        "`Listed`: expected dimension 1 to be 3, got 2"
    );
    assert_eq!(
        refused::<Listed>(&bytes(&[1, 3, 1, 1])),
        "`Listed`: expected dimension 2 to be 2, got 1"
    );
    assert_eq!(
        refused::<Listed>(&bytes(&[1, 3, 2, 0])),
        "`Listed`: expected dimensions 0 and 3 to be equal, got 1 and 0"
    );
    assert_eq!(
        refused::<Roomy>(&bytes(&[1, 2, 3])),
        "`Roomy`: expected at most 2 dimensions, got 3"
    );
    let long = Forged { bytes: vec![0; 300], ..bytes(&[300, 1]) };
    let error = built::<Roomy>(&long).map(|_| ()).unwrap_err();
    let unmet = MismatchKind::Fit { number: MetadataField::Dimension(0), found: 300, int: "i8" };
    assert_eq!(error, ImportError::Mismatch(Mismatch::new("Roomy", unmet)));
    assert_eq!(
        error.to_string(),
        "dimension 0 of the tensor is 300, which does not fit in the `i8` of `Roomy`"
    );
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(
    crate = ::tensors,
    require(device(cpu, cuda_host), dtype(F32, U8), rank(1, 2), contiguous),
)]
struct Picky {
    data: ImportedStorage<u8>,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(
    crate = ::tensors,
    require(device = cuda, dtype = tensors::DataType::BF16, rank = 2, contiguous = column_major),
)]
struct Fussy {
    data: ImportedStorage,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// On one device, which a constant states.
#[derive(DLPackImport)]
#[dlpack(crate = ::tensors, device = Self::DEVICE)]
struct OnSecond {
    data: ImportedStorage,
    shape: Vec<i64>,
}

impl OnSecond {
    const DEVICE: Device = Device::cuda(1);
}

#[test]
fn a_constant_device_is_required() {
    let on = |device| Forged { device, ..bytes(&[6]) };
    let second: OnSecond = built(&on(Device::cuda(1))).unwrap();
    assert_eq!((second.data.imported().device(), second.shape), (Device::cuda(1), vec![6]));
    for (device, found) in [(Device::cuda(0), "cuda:0"), (Device::CPU, "cpu")] {
        assert_eq!(
            refused::<OnSecond>(&on(device)),
            format!("`OnSecond`: expected cuda:1, got {found}; move it there"),
        );
    }
}

/// Device types that only the header's main branch names.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, require(device(tpu, tpu_host, ascend)))]
struct Accelerated {
    data: ImportedStorage,
    shape: Vec<i64>,
}

#[test]
fn provisional_device_types_are_required_by_name() {
    for kind in [ffi::kDLTPU, ffi::kDLTPUHost, ffi::kDLAscend] {
        assert!(
            built::<Accelerated>(&Forged { device: Device::new(kind, 1), ..bytes(&[6]) }).is_ok()
        );
    }
    assert_eq!(
        refused::<Accelerated>(&Forged { device: Device::new(ffi::kDLTrn, 1), ..bytes(&[6]) }),
        "`Accelerated`: expected tpu, tpu_host or ascend, got trn:1; move it there",
    );
}

#[test]
fn unmet_requirements_are_described() {
    assert!(built::<Picky>(&bytes(&[2, 3])).is_ok());
    assert!(built::<Picky>(&Forged { device: Device::CUDA_HOST, ..bytes(&[6]) }).is_ok());
    let says = |forged: &Forged, text: &str| assert_eq!(refused::<Picky>(forged), text);
    says(
        &Forged { device: Device::cuda(0), ..bytes(&[6]) },
        "`Picky`: expected cpu or cuda_host, got cuda:0; move it there",
    );
    says(
        &Forged { dtype: DataType::I8, ..bytes(&[6]) },
        "`Picky`: expected float32 or uint8, got int8",
    );
    says(&bytes(&[1, 2, 3]), "`Picky`: expected 1 or 2 dimensions, got 3");
    says(
        &bytes(&[2]).strided(&[2], 0),
        "`Picky`: expected contiguous elements in row-major order, got other strides",
    );
    // The requirements of the data are checked after that.
    let floats = Forged { dtype: DataType::F32, ..forged(&[2], &[0, 0]) };
    says(&floats, "`Picky`: expected uint8, got float32");

    let says = |forged: &Forged, text: &str| assert_eq!(refused::<Fussy>(forged), text);
    says(&bytes(&[6]), "`Fussy`: expected cuda, got cpu; move it there");
    let cuda = Forged { device: Device::cuda(0), ..bytes(&[1, 3]) };
    says(&cuda, "`Fussy`: expected bfloat16, got uint8");
    let brain = |shape| Forged {
        device: Device::cuda(0),
        dtype: DataType::BF16,
        bytes: vec![0; 12],
        ..bytes(shape)
    };
    says(&brain(&[3]), "`Fussy`: expected 2 dimensions, got 1");
    says(
        &brain(&[2, 3]),
        "`Fussy`: expected contiguous elements in column-major order, got other strides",
    );
}

/// Bytes that hold elements of a type that the struct stores beside them.
#[derive(DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Bytes {
    #[dlpack(copy)]
    data: [u8; 8],
    dtype: DataType,
    shape: Box<[u16]>,
}

#[test]
fn bytes_accept_any_dtype() {
    let value: Bytes = built(&forged(&[1, 2], &[3, 4])).unwrap();
    assert_eq!(value.data[..4], 3_i32.to_ne_bytes());
    assert_eq!(value.data[4..], 4_i32.to_ne_bytes());
    assert_eq!((value.dtype, &*value.shape), (DataType::I32, &[1, 2][..]));
    for (shape, numbers) in [(&[3][..], &[1, 2, 3][..]), (&[1], &[1]), (&[8], &[0; 8])] {
        let found = 4 * numbers.len();
        assert_eq!(
            refused::<Bytes>(&forged(shape, numbers)),
            format!("`Bytes`: expected 8 elements, got {found}")
        );
    }
    let cuda = Forged { device: Device::cuda(0), ..forged(&[2], &[0, 0]) };
    assert!(refused::<Bytes>(&cuda).contains("cuda:0"));
}

/// Without `accepts`, every tensor is accepted and the import itself decides.
#[test]
fn by_default_all_are_accepted() {
    struct Rank(usize);
    impl DLPackImport for Rank {
        fn from_dlpack(tensor: tensors::ImportedTensor) -> Result<Self, ImportError> {
            match tensor.shape().len() {
                0 => Err(ImportError::rejected("no axes")),
                rank => Ok(Self(rank)),
            }
        }
    }
    let drops = dlpack_tests::counted::Drops::new();
    let tensor = super::imported(&bytes(&[]), &drops);
    assert!(Rank::accepts(&tensor).is_ok());
    assert!(Rank::from_dlpack(tensor).is_err());
    assert_eq!(drops.count(), 1);
    assert_eq!(built::<Rank>(&bytes(&[2, 3])).map(|rank| rank.0).ok(), Some(2));
}
