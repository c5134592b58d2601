//! What nothing says a role about is skipped in a list, and other types need no word.

#![deny(warnings)]

use dlpack_traits::{AsLayout, DLPackExport, DLPackImport, Element, ImportedStorage};

type Label = String;

pub struct Tag<'a>(pub &'a str);

#[derive(DLPackExport, DLPackImport)]
#[dlpack(skip(id, r#type, time))]
struct Image {
    data: ImportedStorage<u8>,
    shape: [usize; 2],
    #[dlpack(default)]
    id: u64,
    #[dlpack(default)]
    r#type: Option<u32>,
    #[dlpack(default)]
    time: [u64; 2],
    #[dlpack(default)]
    label: Label,
    #[dlpack(default)]
    scale: f32,
}

#[derive(DLPackExport)]
#[dlpack(skip(2, 3))]
struct Tuple(#[dlpack(data)] Vec<f32>, #[dlpack(shape)] [usize; 1], u64, bool);

#[derive(DLPackExport)]
#[dlpack(transparent, skip(id))]
struct Around {
    image: Tuple,
    id: u64,
}

#[derive(AsLayout)]
#[dlpack(skip(version))]
struct Layout {
    shape: Vec<usize>,
    version: u32,
}

/// A name that is a role's, skipped.
#[derive(DLPackExport)]
#[dlpack(skip(shape), shape(len))]
struct Listed {
    data: Vec<f32>,
    shape: [usize; 3],
    len: usize,
}

/// What a type parameter decides is not decided here.
#[derive(DLPackExport)]
struct Generic<'a, T: Element, U, const N: usize> {
    data: Vec<T>,
    shape: [usize; N],
    meta: U,
    tag: Tag<'a>,
    call: for<'b> fn(Tag<'b>),
    more: Option<Box<Tag<'a>>>,
}

fn main() {
    let around = Around { image: Tuple(vec![0.0; 2], [2], 3, true), id: 1 };
    assert_eq!(around.tensor().unwrap().shape(), [2]);
    assert_eq!((around.id, around.image.2, around.image.3), (1, 3, true));
    let layout = Layout { shape: vec![2], version: 1 };
    assert_eq!(layout.version, 1);
    let mut slot = dlpack_traits::Slot::new();
    let data = dlpack_traits::DataRef::from_slice(&[0.0_f32; 2]);
    assert!(slot.describe().layout(layout.layout()).data(data).is_ok());
    let listed = Listed { data: vec![0.0; 2], shape: [1, 2, 3], len: 2 };
    assert_eq!(listed.tensor().unwrap().shape(), [2]);
    assert_eq!(listed.shape, [1, 2, 3]);
    let call = |tag: Tag<'_>| assert_eq!(tag.0, "tag");
    let tag = || Tag("tag");
    let generic =
        Generic { data: vec![0.0], shape: [1], meta: 7, tag: tag(), call, more: Some(Box::new(tag())) };
    assert_eq!(generic.tensor().unwrap().shape(), [1]);
    (generic.call)(generic.tag);
    assert_eq!((generic.meta, generic.more.is_some()), (7, true));
    let _ = |image: Image| (image.id, image.r#type, image.time, image.label, image.scale);
}
