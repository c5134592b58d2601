//! A program that uses another version of `dlpack-traits` than its library, and exchanges tensors
//! with the library, zero-copy, in both directions.

use dlpack_traits::{DLPackExport, Error, ImportedTensor, OwnedTensor, ffi};
use library::Grid;
use library::dlpack_traits as theirs;
use theirs::{DLPackExport as _, DLPackImport as _};

/// A tensor of the library's version as one of this program's version, zero-copy.
fn from_theirs(tensor: theirs::ManagedTensor) -> Result<ImportedTensor, Error> {
    let managed = tensor.into_raw().cast::<ffi::DLManagedTensorVersioned>();
    // SAFETY: 1. to 4. `into_raw` returns a valid struct of DLPack's major version 1, in which both
    // versions of the crate have one layout, and passes its ownership to us. 5. Other owners write
    // memory that the crate exports only byte-wise atomically.
    unsafe { ImportedTensor::from_raw(managed) }
}

/// The other direction.
fn to_theirs(
    tensor: dlpack_traits::ManagedTensor,
) -> Result<theirs::ImportedTensor, theirs::Error> {
    let managed = tensor.into_raw().cast::<theirs::ffi::DLManagedTensorVersioned>();
    // SAFETY: 1. to 5. As in `from_theirs`.
    unsafe { theirs::ImportedTensor::from_raw(managed) }
}

/// An import of the library's version in a struct of this program's version, zero-copy and
/// without `unsafe`, for elements that no one writes.
#[derive(DLPackExport)]
struct Theirs {
    #[dlpack(slice = f32)]
    data: theirs::OwnedSlice<f32>,
    shape: Vec<i64>,
}

impl Theirs {
    fn new(tensor: theirs::ImportedTensor) -> Result<Self, theirs::Error> {
        let shape = tensor.shape().to_vec();
        Ok(Self { data: tensor.into_owned_slice()?, shape })
    }
}

/// A derive of the library's version, in this program.
#[derive(library::dlpack_traits::DLPackExport)]
#[dlpack(crate = library::dlpack_traits)]
struct Row {
    data: Vec<f32>,
    shape: [usize; 1],
}

fn main() {
    let grid = || Grid { data: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape: [2, 3] };

    let exported = grid().into_dlpack().expect("a tensor of the library");
    let address = exported.data_ptr();
    let tensor = from_theirs(exported).expect("a tensor of this version");
    assert_eq!((tensor.data_ptr(), tensor.shape()), (address, &[2, 3][..]));
    let elements = tensor.elements::<f32>().and_then(|elements| elements.to_vec());
    assert_eq!(elements.expect("floats"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);

    let exported = OwnedTensor::new(vec![0.5_f32; 6], &[3, 2]).and_then(DLPackExport::into_dlpack);
    let exported = exported.expect("a tensor of this version");
    let address = exported.data_ptr();
    let tensor = to_theirs(exported).expect("a tensor of the library's version");
    assert_eq!(tensor.data_ptr(), address);
    let grid_of_ours = Grid::from_dlpack(tensor).expect("a grid of this tensor");
    assert_eq!((grid_of_ours.shape, &grid_of_ours.data[..]), ([3, 2], &[0.5; 6][..]));

    let exported = grid().into_dlpack().expect("a tensor of the library");
    let address = exported.data_ptr();
    let kept = exported.import().and_then(Theirs::new).expect("elements that no one writes");
    let tensor = kept.into_dlpack().expect("a tensor of this version");
    assert_eq!((tensor.data_ptr(), tensor.shape()), (address, &[2, 3][..]));
    assert!(tensor.is_read_only());

    let row = Row { data: vec![1.0; 4], shape: [4] };
    assert_eq!(row.into_dlpack().expect("a row").shape(), [4]);
    println!("two versions exchanged tensors at equal addresses");
}
