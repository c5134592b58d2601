//! `with = path`: functions that convert the types of other crates; dimensions that methods
//! compute.

use tensors::{AsLayout, DLPackExport, DataType, Device, Error, Order};

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
