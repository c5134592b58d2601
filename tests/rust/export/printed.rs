//! The output of `Debug` and `Display` for handles and views, and the messages of
//! requirements that no derive produces.

use std::sync::Arc;

use dlpack_tests::counted::Owner;
use tensors::{
    DLPackExport, DataRef, DataType, Device, Flags, ImportError, ImportedSlice, ImportedStorage,
    MetadataField, Mismatch, MismatchKind, Order, OwnedTensor, SharedBuffer, SharedOwner, Slot,
    Storage, Version,
};

fn owner() -> Owner<Arc<[u16]>> {
    Owner::new(Arc::<[u16]>::from([1, 2, 3]), &[3])
}

#[test]
fn display_and_debug_text_of_metadata() {
    assert_eq!(format!("{:?}", DataType::BF16.with_lanes(2)), "bfloat16x2");
    assert_eq!(format!("{:?}", Device::cuda(1)), "cuda:1");
    assert_eq!(format!("{:?}", Flags::READ_ONLY | Flags::IS_COPIED), "READ_ONLY | IS_COPIED");
    assert_eq!(Version::CURRENT.to_string(), "1.3");
}

/// The output of every handle has its name, its dtype and its device.
#[test]
fn handles_and_views_are_printed_with_dtype_and_device() {
    let says = |text: String, words: &[&str]| {
        for word in words {
            assert!(text.contains(word), "{word} is not in {text}");
        }
    };
    let tensor = owner().to_dlpack().unwrap();
    says(format!("{tensor:?}"), &["ManagedTensor", "uint16", "cpu", "[3]"]);
    let imported = tensor.import().unwrap();
    says(format!("{imported:?}"), &["ImportedTensor", "uint16", "cpu", "[3]", "[1]", "Versioned"]);
    let view = owner().to_dlpack().unwrap().import().unwrap().narrow(0, 1..).unwrap();
    says(format!("{view:?}"), &["ImportedTensor", "[2]", "Versioned"]);
    let elements = imported.elements::<u16>().unwrap();
    says(format!("{elements:?}"), &["Elements", "[3]"]);
    let converted = imported.elements_as::<f32>().unwrap();
    says(format!("{converted:?}"), &["ElementsAs", "uint16", "[3]"]);
    says(format!("{:?}", elements.split(1).next().unwrap()), &["ElementsPart", "axis: 0"]);
    let codes = imported.raw_bits().unwrap();
    assert!(!codes.is_empty() && codes.iter().eq([1, 2, 3]));
    let foreign = ImportedStorage::<u16>::new(imported).unwrap();
    says(format!("{foreign:?}"), &["ImportedStorage", "uint16", "[3]"]);
    let managed = owner().to_dlpack().unwrap().into_raw();
    // SAFETY: we own it, and no one writes to the content of an `Arc`.
    let slice = unsafe { ImportedSlice::<u16>::from_raw(managed) }.unwrap();
    assert_eq!(format!("{slice:?}"), "ImportedSlice([1, 2, 3])");

    let mut buffer = SharedBuffer::<u16>::zeroed(3).unwrap();
    says(format!("{:?}", buffer.data()), &["uint16", "cpu"]);
    says(format!("{:?}", Storage::data_mut(&mut buffer)), &["uint16", "cpu"]);
    says(format!("{buffer:?}"), &["SharedBuffer"]);
    let view = owner();
    says(format!("{:?}", view.tensor().unwrap()), &["TensorView", "uint16", "[3]"]);
    let (mut slot, values) = (Slot::new(), [0_u16; 3]);
    let described = slot.describe().shape([3]).data(DataRef::from_slice(&values)).unwrap();
    says(format!("{described:?}"), &["Description", "ndim: 1"]);
    says(format!("{:?}", OwnedTensor::from_vec(vec![7_u16])), &["OwnedTensor", "7"]);
    let writable = Owner::new(SharedBuffer::<u16>::zeroed(3).unwrap(), &[3]);
    let mut writable = writable.into_dlpack().unwrap().import().unwrap();
    let mut elements = writable.elements_mut::<u16>().unwrap();
    says(format!("{elements:?}"), &["ElementsMut", "[3]"]);
    says(format!("{:?}", elements.split(1).next().unwrap()), &["ElementsPartMut", "axis: 0"]);
    says(format!("{:?}", SharedOwner::new(buffer).unwrap()), &["SharedOwner", "uint16"]);
}

#[test]
fn requirements_are_printed_as_sentences() {
    let said = |unmet| {
        let requirement = Mismatch::new("Image", unmet);
        assert_eq!(requirement.type_name(), "Image");
        requirement.to_string()
    };
    let found = Device::cuda(0);
    assert_eq!(
        said(MismatchKind::Device { needed: vec!["cpu".into()], found }),
        "`Image`: expected cpu, got cuda:0; move it to host memory first"
    );
    assert_eq!(
        said(MismatchKind::Device {
            needed: ["cpu", "rocm", "oneapi"].map(Into::into).into(),
            found
        }),
        "`Image`: expected cpu, rocm or oneapi, got cuda:0; move it there"
    );
    assert_eq!(
        said(MismatchKind::Pitched { order: Some(Order::ColumnMajor) }),
        "`Image`: expected elements that are contiguous along every axis but the last in \
         column-major order, got other strides"
    );
    let fit = |found| said(MismatchKind::Fit { number: MetadataField::Offset, found, int: "u8" });
    assert_eq!(fit(0), "the offset of the tensor is 0, which does not fit in the `u8` of `Image`");
    assert_eq!(
        fit(-1),
        "the offset of the tensor is -1, which does not fit in the `u8` of `Image`"
    );
    assert_eq!(
        said(MismatchKind::Contiguous { order: Some(Order::ColumnMajor), no_strides: false }),
        "`Image`: expected contiguous elements in column-major order, got other strides"
    );
    let alone = MismatchKind::Fit { number: MetadataField::Offset, found: 300, int: "u8" };
    assert_eq!(alone.to_string(), "the offset of the tensor is 300, which does not fit in `u8`");
    let alone = MismatchKind::Contiguous { order: None, no_strides: true };
    assert_eq!(alone.to_string(), "expected contiguous elements, got other strides");
    let none = MismatchKind::Variant(vec![("A", ImportError::from(alone))]);
    assert_eq!(
        none.to_string(),
        "no variant accepts the tensor; `A`: expected contiguous elements, got other strides"
    );
    let types = |needed| said(MismatchKind::DType { needed, found: DataType::F32 });
    assert_eq!(types(vec![DataType::BF16]), "`Image`: expected bfloat16, got float32");
    assert_eq!(
        types(vec![DataType::FLOAT4_E2M1FN]),
        "`Image`: expected float4_e2m1fn, got float32"
    );
}
