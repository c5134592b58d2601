//! `with = path`: functions that convert the types of other crates; dimensions that methods
//! compute.

use tensors::{
    AsLayout, DLPackExport, DLPackImport, DataType, Device, Error, FromLayout, ImportedStorage,
    ImportedTensor, Order,
};

/// Types as another crate has them: no trait of this crate.
mod theirs {
    /// As `candle_core::DType`.
    pub(crate) enum DType {
        I8,
        Bool,
        Custom,
    }

    /// As `burn::Shape`.
    pub(crate) struct Shape(pub(crate) Vec<usize>);

    pub(crate) enum Axes {
        C,
        Fortran,
        Tiled,
    }

    pub(crate) struct Gpu(pub(crate) u8);
}

fn dtype(of: &theirs::DType) -> Result<DataType, Error> {
    match of {
        theirs::DType::I8 => Ok(DataType::I8),
        theirs::DType::Bool => Ok(DataType::BOOL),
        theirs::DType::Custom => Err(Error::Custom("no such type in DLPack")),
    }
}

fn dims(of: &theirs::Shape) -> &[usize] {
    &of.0
}

fn order(of: &theirs::Axes) -> Result<Order, Error> {
    match of {
        theirs::Axes::C => Ok(Order::RowMajor),
        theirs::Axes::Fortran => Ok(Order::ColumnMajor),
        theirs::Axes::Tiled => Err(Error::Custom("tiles have no strides")),
    }
}

fn device(of: &theirs::Gpu) -> Device {
    if of.0 == 0 { Device::CPU } else { Device::cuda(i32::from(of.0)) }
}

#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
struct Blob {
    #[dlpack(data, slice = u8)]
    bytes: Vec<u8>,
    #[dlpack(dtype, with = dtype)]
    kind: theirs::DType,
    #[dlpack(shape, with = dims)]
    extent: theirs::Shape,
    #[dlpack(order, with = order)]
    axes: theirs::Axes,
    #[dlpack(device, with = device)]
    place: theirs::Gpu,
}

fn blob(kind: theirs::DType, axes: theirs::Axes, place: u8) -> Result<Vec<i64>, Error> {
    let bytes = vec![0; 6];
    let extent = theirs::Shape(vec![2, 3]);
    let blob = Blob { bytes, kind, extent, axes, place: theirs::Gpu(place) };
    let tensor = blob.into_dlpack()?;
    assert_eq!(tensor.shape(), [2, 3]);
    Ok(tensor.strides().to_vec())
}

/// A field with the name of a role has that role, also where a function converts it.
#[test]
fn fields_with_the_names_of_roles_are_converted() {
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Named {
        data: Vec<u16>,
        #[dlpack(with = dims)]
        shape: theirs::Shape,
        #[dlpack(with = device)]
        device: theirs::Gpu,
    }
    let named =
        Named { data: vec![1, 2], shape: theirs::Shape(vec![1, 2]), device: theirs::Gpu(0) };
    assert_eq!(named.into_dlpack().unwrap().shape(), [1, 2]);
}

/// Functions convert the types of other crates, and may refuse.
#[test]
fn fields_of_other_crates_are_converted() {
    use theirs::{Axes, DType};
    assert_eq!(blob(DType::I8, Axes::C, 0), Ok(vec![3, 1]));
    assert_eq!(blob(DType::Bool, Axes::Fortran, 0), Ok(vec![1, 2]));
    assert_eq!(blob(DType::Custom, Axes::C, 0), Err(Error::Custom("no such type in DLPack")));
    assert_eq!(blob(DType::I8, Axes::Tiled, 0), Err(Error::Custom("tiles have no strides")));
    assert!(blob(DType::I8, Axes::C, 1).is_err());
}

/// `TryFrom` is accepted where a value may not fit.
#[test]
fn order_may_be_refused() {
    #[derive(Clone)]
    enum Mine {
        Rows,
        Tiled,
    }
    impl TryFrom<Mine> for Order {
        type Error = Error;
        fn try_from(order: Mine) -> Result<Order, Error> {
            match order {
                Mine::Rows => Ok(Order::RowMajor),
                Mine::Tiled => Err(Error::Custom("tiled")),
            }
        }
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Object {
        data: Vec<u8>,
        shape: [usize; 2],
        #[dlpack(order)]
        axes: Mine,
    }
    let object = |axes| Object { data: vec![0; 6], shape: [2, 3], axes };
    assert_eq!(object(Mine::Rows).into_dlpack().unwrap().strides(), [3, 1]);
    assert_eq!(object(Mine::Tiled).into_dlpack().unwrap_err(), Error::Custom("tiled"));
}

/// Strides by a function that returns a list by value, and dimensions that do not fit.
#[test]
fn computed_lists_are_checked() {
    struct Steps(u64);
    fn steps(of: &Steps) -> [u64; 2] {
        [of.0, 1]
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, shape(self.rows(), 2))]
    struct Object {
        data: Vec<u8>,
        #[dlpack(strides, with = steps)]
        steps: Steps,
        #[dlpack(skip)]
        rows: u64,
    }
    impl Object {
        fn rows(&self) -> u64 {
            self.rows
        }
    }
    let object = |rows, step| Object { data: vec![0; 8], steps: Steps(step), rows };
    assert_eq!(object(2, 4).into_dlpack().unwrap().strides(), [4, 1]);
    assert_eq!(object(u64::MAX, 4).into_dlpack().unwrap_err(), Error::DimTooLarge { axis: 0 });
    assert!(object(2, u64::MAX).into_dlpack().is_err());
    assert!(object(3, 4).into_dlpack().is_err());
}

/// Fields of fields, and a field that is written as in code.
#[test]
fn fields_of_fields_are_dimensions() {
    struct Inner {
        rows: u16,
        values: Vec<u8>,
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors, shape(self.inner.rows, self.columns))]
    struct Object {
        #[dlpack(slice = u8, with = values)]
        inner: Inner,
        columns: usize,
    }
    fn values(of: &Inner) -> &[u8] {
        &of.values
    }
    let object = Object { inner: Inner { rows: 2, values: vec![0; 6] }, columns: 3 };
    assert_eq!(object.into_dlpack().unwrap().shape(), [2, 3]);
}

/// A layout of its own converts the types of other crates too.
#[test]
fn layouts_convert_fields() {
    #[derive(AsLayout)]
    #[dlpack(crate = tensors)]
    struct Place {
        #[dlpack(shape, with = dims)]
        extent: theirs::Shape,
        #[dlpack(order, with = order)]
        axes: theirs::Axes,
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Object {
        data: Vec<u8>,
        #[dlpack(layout)]
        place: Place,
    }
    let place = Place { extent: theirs::Shape(vec![2, 3]), axes: theirs::Axes::Fortran };
    let tensor = Object { data: vec![0; 6], place }.into_dlpack().unwrap();
    assert_eq!(tensor.strides(), [1, 2]);
}

/// Only the entries in use must fit, also of a list that a function returns.
#[test]
fn entries_that_are_not_in_use_may_be_anything() {
    #[derive(DLPackExport)]
    #[dlpack(crate = tensors)]
    struct Capacity {
        data: Vec<u8>,
        #[dlpack(shape, with = dims)]
        extent: theirs::Shape,
        #[dlpack(strides, with = dims)]
        steps: theirs::Shape,
        #[dlpack(ndim)]
        rank: usize,
    }
    let exported = |rank| {
        let extent = theirs::Shape(vec![2, 3, usize::MAX, usize::MAX]);
        let steps = theirs::Shape(vec![3, 1, usize::MAX, usize::MAX]);
        let capacity = Capacity { data: vec![0; 6], extent, steps, rank };
        capacity.into_dlpack().map(|tensor| tensor.shape().to_vec())
    };
    assert_eq!(exported(2), Ok(vec![2, 3]));
    assert_eq!(exported(3), Err(Error::DimTooLarge { axis: 2 }));
    assert_eq!(exported(5), Err(Error::DimTooLarge { axis: 2 }));
}

fn to_shape(dims: Vec<usize>) -> theirs::Shape {
    theirs::Shape(dims)
}

fn to_axes(order: Order) -> theirs::Axes {
    if order == Order::RowMajor { theirs::Axes::C } else { theirs::Axes::Fortran }
}

fn to_kind(dtype: DataType) -> Result<theirs::DType, String> {
    match dtype {
        DataType::I8 => Ok(theirs::DType::I8),
        DataType::BOOL => Ok(theirs::DType::Bool),
        other => Err(format!("no type for {other}")),
    }
}

fn to_gpu(device: Device) -> theirs::Gpu {
    theirs::Gpu(u8::from(device != Device::CPU))
}

/// A layout of another crate's types, which both directions convert.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = tensors)]
struct Both {
    data: ImportedStorage,
    #[dlpack(with(dims, to_shape))]
    shape: theirs::Shape,
    #[dlpack(order, with(order, to_axes))]
    axes: theirs::Axes,
    #[dlpack(dtype, with(dtype, to_kind))]
    kind: theirs::DType,
    #[dlpack(device, with(device, to_gpu))]
    place: theirs::Gpu,
}

#[derive(AsLayout, FromLayout)]
#[dlpack(crate = tensors)]
struct Steps {
    #[dlpack(shape, with(dims, to_pair))]
    extent: theirs::Shape,
    #[dlpack(strides, with(dims, to_pair))]
    steps: theirs::Shape,
}

fn to_pair(list: [u8; 2]) -> theirs::Shape {
    theirs::Shape(list.map(usize::from).to_vec())
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = tensors)]
struct Stepped {
    data: ImportedStorage<i8>,
    #[dlpack(layout)]
    steps: Steps,
}

/// Two dimensions, which a function converts.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = tensors)]
struct Paired {
    data: ImportedStorage<i8>,
    #[dlpack(shape, with(dims, to_pair))]
    extent: theirs::Shape,
}

/// A list of a fixed capacity that a function makes.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = tensors)]
struct Roomy {
    data: ImportedStorage<i8>,
    #[dlpack(shape, with(dims, to_four))]
    extent: theirs::Shape,
    #[dlpack(ndim)]
    rank: u8,
}

fn to_four(list: [usize; 4]) -> theirs::Shape {
    theirs::Shape(list.to_vec())
}

#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
struct Source {
    data: Vec<i8>,
    shape: Vec<usize>,
    strides: Vec<usize>,
}

fn source(shape: &[usize], strides: &[usize]) -> ImportedTensor {
    let (shape, strides) = (shape.to_vec(), strides.to_vec());
    let source = Source { data: vec![0; 400], shape, strides };
    source.into_dlpack().unwrap().import().unwrap()
}

#[test]
fn imports_convert_fields() {
    let both = Both::from_dlpack(source(&[2, 3], &[1, 2])).unwrap();
    assert_eq!((&both.shape.0[..], both.place.0), (&[2, 3][..], 0));
    assert!(matches!((&both.axes, &both.kind), (theirs::Axes::Fortran, theirs::DType::I8)));
    assert_eq!(both.into_dlpack().unwrap().strides(), [1, 2]);
    let bytes = vec![0_u8; 3];
    let bytes = Bytes(bytes).into_dlpack().unwrap().import().unwrap();
    let error = Both::from_dlpack(bytes).map(|both| both.data).unwrap_err();
    assert_eq!(error.to_string(), "no type for uint8");
}

#[derive(DLPackExport)]
#[dlpack(crate = tensors, shape(3))]
struct Bytes(#[dlpack(data)] Vec<u8>);

#[test]
fn lists_that_a_function_takes_are_requirements() {
    let stepped = Stepped::from_dlpack(source(&[2, 3], &[4, 1])).unwrap();
    assert_eq!(
        (&stepped.steps.extent.0[..], &stepped.steps.steps.0[..]),
        (&[2, 3][..], &[4, 1][..])
    );
    assert_eq!(stepped.into_dlpack().unwrap().strides(), [4, 1]);
    let refused = |tensor: ImportedTensor| {
        assert!(Stepped::accepts(&tensor).is_err());
        Stepped::from_dlpack(tensor).map(|stepped| stepped.data).unwrap_err().to_string()
    };
    assert_eq!(refused(source(&[6], &[1])), "`Stepped`: expected 2 dimensions, got 1");
    let long = refused(source(&[1, 300], &[300, 1]));
    assert_eq!(
        long,
        "dimension 1 of the tensor is 300, which does not fit in the `u8` of `Stepped`"
    );
    let paired = Paired::from_dlpack(source(&[2, 3], &[3, 1])).unwrap();
    assert_eq!(paired.extent.0, [2, 3]);
    let few = Paired::from_dlpack(source(&[6], &[1])).map(|paired| paired.data).unwrap_err();
    assert_eq!(few.to_string(), "`Paired`: expected 2 dimensions, got 1");
    let roomy = Roomy::from_dlpack(source(&[2, 3], &[3, 1])).unwrap();
    assert_eq!((&roomy.extent.0[..], roomy.rank), (&[2, 3, 0, 0][..], 2));
    assert_eq!(roomy.into_dlpack().unwrap().shape(), [2, 3]);
    assert!(Roomy::accepts(&source(&[1; 5], &[1; 5])).is_err());
}
