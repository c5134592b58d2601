//! A wrapper forwards every method to its content.

use std::sync::Arc;

use tensors::{
    DLPackExport, DataRef, Describe, Description, Error, SharedOwner, Storage, StreamArg,
    Synchronize, TensorView,
};

/// Memory that is not ready, and whose other owner is identified by its length.
#[derive(Debug)]
struct Busy(Arc<[u8]>);

const BUSY: Error = Error::Custom("busy");

impl Storage for Busy {
    fn data(&self) -> DataRef<'_> {
        // SAFETY: 1. and 2. No device works on it.
        unsafe { DataRef::from_slice(&self.0).synchronized_by(self) }
    }

    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(Self(Arc::clone(&self.0)))
    }
}

impl Synchronize for Busy {
    fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
        Err(BUSY)
    }
}

fn busy() -> Busy {
    Busy(Arc::from([1, 2]))
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Pair {
    data: Busy,
    shape: [usize; 1],
}

fn pair() -> Pair {
    Pair { data: busy(), shape: [2] }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, transparent)]
struct Around(Pair);

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
enum Either {
    Pair(Pair),
    #[dlpack(skip)]
    Nothing,
}

#[derive(Storage)]
#[dlpack(crate = ::tensors)]
enum Kept {
    Busy(Busy),
    #[dlpack(skip)]
    Gone,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct InEnum {
    data: Kept,
    shape: [usize; 1],
}

/// A tensor whose own hook reports pending work.
struct Pending(Vec<u8>);

impl DLPackExport for Pending {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[2]).data(self.0.data())
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.0)
    }

    fn sync_for(&self, _: StreamArg<'_>) -> Result<(), Error> {
        Err(BUSY)
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, transparent)]
struct AroundPending(Pending);

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
enum MaybePending {
    Pending(Pending),
    #[dlpack(skip)]
    Nothing,
}

/// The hook and the storage of a tensor are those of its content.
#[test]
fn hooks_of_the_content_are_called() {
    fn check(owner: &dyn DLPackExport, content: *const u8) {
        assert_eq!(owner.storage().map(|storage| storage.data().as_ptr()), Some(content));
        assert_eq!(owner.sync_for(StreamArg::unspecified()), Err(BUSY));
    }
    let (first, second) = (Pending(vec![1, 2]), Pending(vec![1, 2]));
    let (one, other) = (first.0.as_ptr(), second.0.as_ptr());
    check(&AroundPending(first), one);
    check(&MaybePending::Pending(second), other);
    assert!(MaybePending::Nothing.storage().is_none());
}

/// The memory synchronizes itself, whatever is around it.
#[test]
fn busy_memory_is_not_exported() {
    fn check(owner: impl DLPackExport + Send + 'static) {
        let ask = StreamArg::unspecified();
        assert_eq!(owner.tensor().unwrap().sync_for(ask), Err(BUSY));
        assert_eq!(owner.to_dlpack().map(|_| ()), Err(BUSY));
        assert!(owner.share().is_some());
        assert_eq!(owner.into_dlpack().map(|_| ()), Err(BUSY));
    }
    check(pair());
    check(Box::new(pair()));
    check(Box::new(pair()) as Box<dyn DLPackExport + Send>);
    check(Arc::new(pair()));
    check(Around(pair()));
    check(Either::Pair(pair()));
    check(InEnum { data: Kept::Busy(busy()), shape: [2] });

    let owner = SharedOwner::new(busy()).unwrap();
    let another = Storage::share(&owner).expect("its content can be shared");
    assert_eq!(another.data().byte_len(), 2);
}

/// A variant without data returns its own error, and not that it cannot be shared.
#[test]
fn an_empty_variant_returns_its_own_error() {
    let gone = InEnum { data: Kept::Gone, shape: [0] };
    let reason = gone.tensor().map(|_: TensorView<'_>| ()).unwrap_err();
    assert_ne!(reason, Error::NotShareable);
    assert_eq!(gone.to_dlpack().unwrap_err(), reason);
    let handle = Storage::share(&gone.data).expect("a handle to nothing");
    assert_eq!(SharedOwner::new(Kept::Gone).map(|owner| owner.data().byte_len()), Some(0));
    assert_eq!(handle.data().byte_len(), 0);
    let nothing = Either::Nothing;
    assert_eq!(nothing.to_dlpack().unwrap_err(), nothing.tensor().map(|_| ()).unwrap_err());
}
