//! `#[derive(Record)]`: structs whose fields are tensors over the same memory.

#![forbid(unsafe_code)]
#![expect(non_snake_case, reason = "names of fields are any identifiers")]

use core::marker::PhantomData;
use core::mem::offset_of;
use std::borrow::Cow;
use std::sync::Arc;

use dlpack_tests::counted::Owner;
use tensors::{
    Complex, DLPackExport, DataType, Element, Error, ExportArc, Field, FieldTensor,
    ImportedStorage, OwnedTensor, Record, RecordType, Records, SharedBuffer, SharedTensor, Storage,
};

#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    mass: f32,
    id: u32,
}

impl Particle {
    fn numbered(id: u32) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let mass = id as f32 + 0.5;
        Self { position: [mass; 3], mass, id }
    }
}

/// A number that is an element.
#[derive(Clone, Copy, Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(transparent)]
struct Rgb([u8; 3]);

/// Padding, markers, arrays of elements and of records, and names that are keywords.
#[derive(Clone, Copy, Record)]
#[dlpack(crate = ::tensors)]
#[repr(C)]
struct Odd {
    r#type: bool,
    #[dlpack(skip)]
    padding: [u8; 3],
    tiles: [[Rgb; 2]; 2],
    pair: [Particle; 2],
    marker: PhantomData<fn() -> String>,
    #[dlpack(skip)]
    nothing: (),
    größe: i64,
    bodyMass: u64,
}

#[derive(Clone, Copy, Record)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(C)]
struct Tagged<T, const N: usize> {
    values: [T; N],
    pub(crate) tag: u32,
}

fn particles() -> Vec<Particle> {
    (0..3).map(Particle::numbered).collect()
}

#[derive(DLPackExport)]
#[dlpack(crate = tensors, transparent)]
struct Wrapped(OwnedTensor<Particle>);

#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
enum OneOf {
    Records(OwnedTensor<Particle>),
    Numbers(OwnedTensor<f32>),
}

#[derive(tensors::Storage)]
#[dlpack(crate = tensors)]
enum Stored {
    Records(Vec<Particle>),
    #[dlpack(dtype = tensors::DataType::I8)]
    Bytes(Vec<u8>),
    #[dlpack(skip)]
    Nothing,
}

#[test]
fn every_owner_of_records_has_their_fields() {
    let fields = |record: Option<&'static RecordType>| record.map(RecordType::size);
    for found in [
        particles().record_type(),
        particles().as_slice().record_type(),
        [Particle::numbered(1)].record_type(),
        Cow::Borrowed(particles().as_slice()).record_type(),
        particles().into_boxed_slice().record_type(),
        OwnedTensor::from_vec(particles()).record_type(),
        Box::new(OwnedTensor::from_vec(particles())).record_type(),
        Arc::new(OwnedTensor::from_vec(particles())).record_type(),
        ExportArc::new(OwnedTensor::from_vec(particles())).unwrap().record_type(),
    ] {
        assert_eq!(fields(found), Some(20));
    }
    assert!(vec![1_u8].record_type().is_none());
    let wrapped = Wrapped(OwnedTensor::from_vec(particles()));
    assert_eq!(fields(DLPackExport::record_type(&wrapped)), Some(20));
    let one = OneOf::Records(OwnedTensor::from_vec(particles()));
    assert_eq!(fields(DLPackExport::record_type(&one)), Some(20));
    let one = OneOf::Numbers(OwnedTensor::from_vec(vec![1.0]));
    assert!(DLPackExport::record_type(&one).is_none());
    assert_eq!(fields(Stored::Records(particles()).record_type()), Some(20));
    assert!(Stored::Bytes(vec![1]).record_type().is_none());
    assert!(Stored::Nothing.record_type().is_none());
    let imported = OwnedTensor::from_vec(particles()).into_dlpack().unwrap().import().unwrap();
    let slice = imported.into_owned_slice::<Particle>().unwrap();
    assert_eq!(fields(Storage::record_type(&slice)), Some(20));
}

#[test]
fn a_record_is_its_bytes() {
    assert_eq!((Particle::DTYPE, Particle::AXES), (DataType::U8, &[20][..]));
    const { assert!(Particle::ANY_BITS && !Odd::ANY_BITS) };
    let record = Particle::RECORD.unwrap();
    assert_eq!(record.to_string(), "{position: float32[3], mass: float32, id: uint32}");
    assert_eq!((record.size(), f32::RECORD), (20, None));
    let tensor = Owner::new(particles(), &[3]).into_dlpack().unwrap().import().unwrap();
    assert_eq!((tensor.shape(), tensor.is_read_only()), (&[3, 20][..], false));
    assert_eq!(tensor.elements::<Particle>().unwrap().to_vec().unwrap(), particles());
    let stored = ImportedStorage::<Particle>::new(tensor).unwrap();
    assert_eq!(Storage::record_type(&stored), Some(record));
}

#[test]
fn constants_describe_the_fields() {
    let fields = [Particle::POSITION.ty(), Particle::MASS.ty(), Particle::ID.ty()];
    assert_eq!(Particle::RECORD.unwrap().fields(), fields);
    assert_eq!((Particle::MASS.name(), Particle::MASS.offset()), ("mass", 12));
    assert_eq!((Particle::MASS.dtype(), Particle::POSITION.axes()), (DataType::F32, &[3][..]));
    let odd = Odd::RECORD.unwrap();
    assert_eq!(
        odd.to_string(),
        "{type: bool, tiles: uint8[2][2][3], pair: {position: float32[3], mass: float32, id: \
         uint32}[2], größe: int64, bodyMass: uint64}"
    );
    let offsets = odd.fields().iter().map(|field| (field.name(), field.offset()));
    assert!(offsets.eq([
        ("type", offset_of!(Odd, r#type)),
        ("tiles", offset_of!(Odd, tiles)),
        ("pair", offset_of!(Odd, pair)),
        ("größe", offset_of!(Odd, größe)),
        ("bodyMass", offset_of!(Odd, bodyMass)),
    ]));
    let _: [Field<Odd, bool>; 1] = [Odd::TYPE];
    assert_eq!((Odd::GRÖSSE.offset(), Odd::BODY_MASS.offset()), (56, 64));
    assert_eq!(Tagged::<f64, 3>::TAG.offset(), 24);
    assert_eq!(Tagged::<Complex<f32>, 2>::VALUES.axes(), [2]);
}

#[test]
fn a_field_is_a_tensor_over_the_same_memory() {
    let shared = SharedBuffer::from_slice(&particles()).unwrap();
    let mass = shared.field(Particle::MASS).to_dlpack().unwrap();
    assert_eq!((mass.shape(), mass.strides(), mass.dtype()), (&[3][..], &[5][..], DataType::F32));
    let mut mass = mass.import().unwrap();
    mass.elements_mut::<f32>().unwrap().map_in_place(|mass| mass * 2.0);
    assert_eq!(shared.load(1), Particle { mass: 3.0, ..Particle::numbered(1) });

    let position = shared.field(Particle::POSITION).to_dlpack().unwrap().import().unwrap();
    assert_eq!((position.shape(), position.strides()), (&[3, 3][..], &[5, 1][..]));
    let last = position.elements::<[f32; 3]>().unwrap().to_vec().unwrap()[2];
    assert_eq!(last.map(f32::to_bits), [2.5_f32; 3].map(f32::to_bits));
    // The last element of the last record ends where the memory does.
    let id = shared.field(Particle::ID).to_dlpack().unwrap().import().unwrap();
    assert_eq!(id.elements::<u32>().unwrap().to_vec().unwrap(), [0, 1, 2]);
    assert!(SharedBuffer::<Particle>::zeroed(0).unwrap().field(Particle::ID).tensor().is_ok());
}

#[test]
fn access_is_that_of_the_storage() {
    fn ids<S: Storage>(field: &FieldTensor<S, u32>) -> Vec<u32> {
        let copy = field.copy_to_dlpack().unwrap().import().unwrap();
        copy.elements::<u32>().unwrap().to_vec().unwrap()
    }
    let records = particles();
    let borrowed = records.field(Particle::ID);
    assert_eq!(ids(&borrowed), [0, 1, 2]);
    assert!(borrowed.tensor().unwrap().is_read_only());
    assert_eq!(borrowed.to_dlpack().unwrap_err(), Error::NotShareable);

    let shared: Arc<[Particle]> = Arc::from(particles());
    let field = shared.field(Particle::ID);
    let tensor = field.to_dlpack().unwrap();
    assert_eq!((tensor.is_read_only(), Arc::strong_count(&shared)), (true, 3));
    assert_eq!(ids(&field), [0, 1, 2]);
    drop((tensor, field));
    assert_eq!(Arc::strong_count(&shared), 1);

    let tensor = SharedTensor::new(particles(), [3]).unwrap();
    assert!(!tensor.field(Particle::ID).into_dlpack().unwrap().is_read_only());
    assert_eq!(tensor.record_type(), Particle::RECORD);
    assert_eq!(OwnedTensor::from_vec(particles()).record_type(), Particle::RECORD);
    let printed = format!("{:?} {:?}", Particle::ID, shared.field(Particle::ID));
    assert!(printed.starts_with("Field(FieldType"), "{printed}");
    assert!(printed.contains("FieldTensor(FieldType"), "{printed}");
}

#[test]
fn fields_of_records_with_invariants_are_read_only() {
    let particle = Particle::numbered(7);
    let tiles = [[Rgb([1, 2, 3]), Rgb([4, 5, 6])]; 2];
    let odd = Odd {
        r#type: true,
        padding: [0; 3],
        tiles,
        pair: [particle; 2],
        marker: PhantomData,
        nothing: (),
        größe: -1,
        bodyMass: 1,
    };
    assert_eq!((odd.padding, odd.nothing), ([0; 3], ()));
    let records = Arc::<[Odd]>::from([odd; 2]);
    let import = |field: &dyn Fn() -> Result<tensors::ManagedTensor, Error>| {
        let tensor = field().unwrap();
        assert!(tensor.is_read_only());
        tensor.import().unwrap()
    };
    let flags = import(&|| records.field(Odd::TYPE).to_dlpack());
    assert_eq!(flags.elements::<bool>().unwrap().to_vec().unwrap(), [true; 2]);
    let tiles = import(&|| records.field(Odd::TILES).to_dlpack());
    assert_eq!((tiles.shape(), tiles.strides()), (&[2, 2, 2, 3][..], &[72, 6, 3, 1][..]));
    let sizes = import(&|| records.field(Odd::GRÖSSE).to_dlpack());
    assert_eq!(sizes.elements::<i64>().unwrap().to_vec().unwrap(), [-1; 2]);
    let pairs = import(&|| records.field(Odd::PAIR).to_dlpack());
    assert_eq!(pairs.shape(), [2, 2, 20]);
    assert_eq!(pairs.elements::<Particle>().unwrap().to_vec().unwrap(), [particle; 4]);
    assert_eq!(records.field(Odd::PAIR).record_type(), Particle::RECORD);
    assert_eq!(records.field(Odd::BODY_MASS).record_type(), None);
}

/// DLPack counts strides in elements.
#[test]
fn strides_that_are_no_multiple_are_errors() {
    let records = [Tagged { values: [Complex { re: 1.0_f32, im: 2.0 }], tag: 1 }; 2];
    let refused = records[..].field(Tagged::<Complex<f32>, 1>::VALUES).tensor().unwrap_err();
    assert_eq!(refused, Error::StrideNotWhole { axis: 0, bytes: 12 });
    assert_eq!(records[..].field(Tagged::<Complex<f32>, 1>::TAG).tensor().unwrap().strides(), [3]);
}

/// A constant can be forged by the hidden function that expansions call: exports are validated.
#[test]
#[cfg_attr(target_family = "wasm", ignore = "a panic ends the program there")]
fn forged_fields_are_validated() {
    use tensors::__private::parts::field;
    let bytes = [[0_u8; 8]; 3];
    let bytes = &bytes[..];
    let aligned = bytes.as_ptr().addr() % 4;
    let unaligned = field::<[u8; 8], f32>("forged", if aligned == 0 { 1 } else { 4 - aligned + 1 });
    let refused = bytes.field(unaligned).tensor().map(|_| ()).unwrap_err();
    assert!(matches!(refused, Error::Misaligned { .. }), "{refused:?}");
    let numbers = [1.0_f32; 2];
    let other = field::<f32, i32>("forged", 0);
    assert!(matches!(numbers[..].field(other).tensor().map(|_| ()), Err(Error::Custom(_))));
    let beyond = std::panic::catch_unwind(|| field::<u8, u16>("forged", 0));
    assert!(beyond.is_err());
}
