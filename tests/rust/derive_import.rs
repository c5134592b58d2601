//! `#[derive(DLPackImport)]`: every role is imported and exported again, mismatches are
//! refused, and the deleter runs exactly once on every path.

mod derive_import {
    pub(crate) mod agreement;
    pub(crate) mod around;
    pub(crate) mod arrays;
    #[path = "../import/forge.rs"]
    #[expect(dead_code, reason = "the tests of the import itself use the rest")]
    pub(crate) mod forge;
    pub(crate) mod layouts;
    pub(crate) mod needs;
    pub(crate) mod ownership;
    pub(crate) mod refusals;
    pub(crate) mod roles;
    pub(crate) mod strides;

    use core::fmt::Display;

    use dlpack_tests::counted::Drops;
    use tensors::ffi::DLManagedTensorVersioned;
    use tensors::{DLPackImport, DataType, ImportError, ImportedTensor};

    use self::forge::Forged;

    /// Imports it, and counts its deleter.
    pub(crate) fn imported(forged: &Forged, drops: &Drops) -> ImportedTensor {
        forged.import::<DLManagedTensorVersioned>(drops).1.expect("it is in order")
    }

    /// Builds a value of it.
    pub(crate) fn built<T: DLPackImport>(forged: &Forged) -> Result<T, ImportError> {
        T::from_dlpack(imported(forged, &Drops::new()))
    }

    /// Returns the error of an import, and checks that `accepts` returns the same. The
    /// deleter ran.
    pub(crate) fn refused<T: DLPackImport>(forged: &Forged) -> String {
        let drops = Drops::new();
        let tensor = imported(forged, &drops);
        let accepts = T::accepts(&tensor).expect_err("it is refused");
        assert_eq!(drops.count(), 0, "a look takes nothing");
        let text = text(T::from_dlpack(tensor));
        assert_eq!(accepts.to_string(), text);
        assert_eq!(drops.count(), 1, "a refused tensor is released");
        text
    }

    /// The text of an error.
    pub(crate) fn text<T, E: Display>(result: Result<T, E>) -> String {
        result.map(|_| ()).expect_err("it is refused").to_string()
    }

    /// Six bytes.
    pub(crate) fn bytes(shape: &[i64]) -> Forged {
        let forged = forge::forged(shape, &[]);
        Forged { dtype: DataType::U8, bytes: vec![0, 1, 2, 3, 4, 5], ..forged }
    }
}
