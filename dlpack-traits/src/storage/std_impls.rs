//! [`Storage`] for the standard library's owners of slices.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::element::{Element, RecordType};
use crate::storage::{DataMut, DataRef, SharedOwner, Storage};

impl<T: Element> Storage for [T] {
    #[inline(always)]
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(self)
    }

    #[inline(always)]
    fn data_mut(&mut self) -> DataMut<'_> {
        DataMut::from_mut_slice(self)
    }

    #[inline]
    fn record_type(&self) -> Option<&'static RecordType> {
        T::RECORD
    }
}

/// The elements of an array of arrays are arrays: a `[[f32; 3]; 2]` has 2 elements, each with an
/// axis of size 3.
impl<T: Element, const N: usize> Storage for [T; N] {
    #[inline(always)]
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(self)
    }

    #[inline(always)]
    fn data_mut(&mut self) -> DataMut<'_> {
        DataMut::from_mut_slice(self)
    }

    #[inline]
    fn record_type(&self) -> Option<&'static RecordType> {
        T::RECORD
    }
}

/// An owned vector is lent for writing, a borrowed slice for reading. An export by value
/// needs a `Cow<'static, [T]>`.
impl<T: Clone> Storage for Cow<'_, [T]>
where
    [T]: Storage,
{
    #[inline(always)]
    fn data(&self) -> DataRef<'_> {
        (**self).data()
    }

    #[inline(always)]
    fn data_mut(&mut self) -> DataMut<'_> {
        match self {
            Cow::Owned(owned) => owned.as_mut_slice().data_mut(),
            Cow::Borrowed(borrowed) => borrowed.data().into(),
        }
    }

    #[inline]
    fn record_type(&self) -> Option<&'static RecordType> {
        (**self).record_type()
    }
}

impl<T: Element> Storage for Vec<T> {
    #[inline(always)]
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(self)
    }

    #[inline(always)]
    fn data_mut(&mut self) -> DataMut<'_> {
        DataMut::from_mut_slice(self)
    }

    #[inline]
    fn record_type(&self) -> Option<&'static RecordType> {
        T::RECORD
    }
}

/// Methods that a pointer forwards to the storage that it points to.
macro_rules! forward {
    ($($method:ident)+) => { $(forward!(@ $method);)+ };
    (@ data) => {
        #[inline(always)]
        fn data(&self) -> DataRef<'_> {
            (**self).data()
        }
    };
    (@ lend) => {
        #[inline(always)]
        fn data_mut(&mut self) -> DataMut<'_> {
            (**self).data_mut()
        }
    };
    (@ share) => {
        #[inline(always)]
        fn share(&self) -> Option<SharedOwner> {
            (**self).share()
        }
    };
    (@ record_type) => {
        #[inline]
        fn record_type(&self) -> Option<&'static RecordType> {
            (**self).record_type()
        }
    };
}

/// A borrowed storage can be read during the borrow.
impl<S: Storage + ?Sized> Storage for &S {
    forward!(data share record_type);
}

/// A mutably borrowed slice is lent as the slice itself is.
///
/// There is no implementation for every `&mut S`: in `fn data_mut(&mut self)` it would turn the
/// `self.data()` of every other storage into a borrow of the local `self`.
impl<T: Element> Storage for &mut [T] {
    forward!(data lend record_type);
}

impl<S: Storage + ?Sized> Storage for Box<S> {
    forward!(data lend share record_type);
}

/// An `Rc` can be viewed, but not exported: it is not `Send`.
impl<S: Storage + ?Sized> Storage for Rc<S> {
    forward!(data record_type);
}

/// An `Arc` is always lent for reading, also while it is the only owner: whether a consumer
/// may write must not depend on a count that can change.
impl<S: Storage + Send + Sync + ?Sized + 'static> Storage for Arc<S> {
    forward!(data record_type);

    #[inline(always)]
    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(Arc::clone(self))
    }
}
