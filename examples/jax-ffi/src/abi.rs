//! The part of XLA's C interface for handlers that this library uses: `xla/ffi/api/c_api.h` of the
//! package `jaxlib`, version 0.3. A test compares it with the header.

#![expect(clippy::struct_field_names, reason = "the names in the header")]

use core::ffi::{c_char, c_int, c_void};
use core::fmt::Write;

use dlpack_traits::DataType;

/// Defines constants and structs, and a function that compares them with the header.
macro_rules! interface {
    (
        constants: { $($c_name:ident = $NAME:ident = $value:expr,)* }
        $($(#[$doc:meta])* $c_type:literal = $Name:ident { $($field:ident: $Type:ty,)* })*
    ) => {
        $(pub(crate) const $NAME: c_int = $value;)*

        $(
            $(#[$doc])*
            #[repr(C)]
            pub(crate) struct $Name { $(pub(crate) $field: $Type,)* }
        )*

        /// Returns a C program that compiles if the header has the same constants, and the same
        /// fields of the same size at the same offsets.
        pub(crate) fn assertions() -> String {
            let mut program = String::from("#include \"xla/ffi/api/c_api.h\"\n");
            let mut assert = |claim: String| {
                writeln!(program, "_Static_assert({claim}, \"\");").expect("a string grows");
            };
            $(assert(format!("{} == {}", stringify!($c_name), $NAME));)*
            for (name, code, _) in DTYPES {
                assert(format!("XLA_FFI_DataType_{name} == {code}"));
            }
            $($(
                let field = stringify!($field).trim_start_matches("r#");
                let (offset, size) = (core::mem::offset_of!($Name, $field), size_of::<$Type>());
                assert(format!("offsetof({}, {field}) == {offset}", $c_type));
                assert(format!("sizeof((({}*)0)->{field}) == {size}", $c_type));
            )*)*
            program
        }
    };
}

interface! {
    constants: {
        XLA_FFI_API_MAJOR = MAJOR = 0,
        XLA_FFI_Extension_Metadata = EXTENSION_METADATA = 1,
        XLA_FFI_ExecutionStage_EXECUTE = STAGE_EXECUTE = 3,
        XLA_FFI_ArgType_BUFFER = ARG_BUFFER = 1,
        XLA_FFI_RetType_BUFFER = RET_BUFFER = 1,
        XLA_FFI_AttrType_SCALAR = ATTR_SCALAR = 3,
        XLA_FFI_Error_Code_INVALID_ARGUMENT = INVALID_ARGUMENT = 3,
        XLA_FFI_Error_Code_INTERNAL = INTERNAL = 13,
    }

    /// What follows the arguments of a function; the type states what follows the head.
    "__typeof__(((XLA_FFI_Metadata_Extension*)0)->extension_base)" = Extension {
        struct_size: usize,
        r#type: c_int,
        next: *mut Extension,
    }

    "XLA_FFI_Metadata_Extension" = MetadataExtension {
        extension_base: Extension,
        metadata: *mut Metadata,
    }

    /// What a handler states about itself when XLA compiles a program.
    "XLA_FFI_Metadata" = Metadata {
        struct_size: usize,
        api_version: ApiVersion,
        traits: u32,
    }

    "XLA_FFI_Api_Version" = ApiVersion {
        struct_size: usize,
        extension_start: *mut Extension,
        major_version: c_int,
        minor_version: c_int,
    }

    /// The functions of XLA: the first ones.
    #[expect(non_snake_case, reason = "the name in the header")]
    "XLA_FFI_Api" = Api {
        struct_size: usize,
        extension_start: *mut Extension,
        api_version: ApiVersion,
        internal_api: *const c_void,
        XLA_FFI_Error_Create: unsafe extern "C" fn(*mut ErrorCreateArgs) -> *mut Error,
    }

    "XLA_FFI_Error_Create_Args" = ErrorCreateArgs {
        struct_size: usize,
        extension_start: *mut Extension,
        message: *const c_char,
        errc: c_int,
    }

    /// A call of a handler.
    "XLA_FFI_CallFrame" = CallFrame {
        struct_size: usize,
        extension_start: *mut Extension,
        api: *const Api,
        ctx: *mut c_void,
        stage: c_int,
        args: Args,
        rets: Rets,
        attrs: Attrs,
    }

    "XLA_FFI_Args" = Args {
        struct_size: usize,
        extension_start: *mut Extension,
        size: i64,
        types: *const c_int,
        args: *const *const Buffer,
    }

    "XLA_FFI_Rets" = Rets {
        struct_size: usize,
        extension_start: *mut Extension,
        size: i64,
        types: *const c_int,
        rets: *const *const Buffer,
    }

    /// The attributes of a call, sorted by name.
    "XLA_FFI_Attrs" = Attrs {
        struct_size: usize,
        extension_start: *mut Extension,
        size: i64,
        types: *const c_int,
        names: *const *const ByteSpan,
        attrs: *const *const c_void,
    }

    "XLA_FFI_ByteSpan" = ByteSpan {
        ptr: *const u8,
        len: usize,
    }

    "XLA_FFI_Scalar" = Scalar {
        dtype: c_int,
        value: *const c_void,
    }

    /// A contiguous tensor in row-major order.
    "XLA_FFI_Buffer" = Buffer {
        struct_size: usize,
        extension_start: *mut Extension,
        dtype: c_int,
        data: *mut c_void,
        rank: i64,
        dims: *mut i64,
    }
}

/// The minor version of the header from which this module was written. A later one adds to it.
pub(crate) const MINOR: c_int = 3;

/// An error of XLA.
pub(crate) enum Error {}

/// The types of XLA that have a type of DLPack: name, code, type. Those of less than a byte
/// are left out.
pub(crate) const DTYPES: [(&str, c_int, DataType); 15] = [
    ("PRED", 1, DataType::BOOL),
    ("S8", 2, DataType::I8),
    ("S16", 3, DataType::I16),
    ("S32", 4, DataType::I32),
    ("S64", 5, DataType::I64),
    ("U8", 6, DataType::U8),
    ("U16", 7, DataType::U16),
    ("U32", 8, DataType::U32),
    ("U64", 9, DataType::U64),
    ("F16", 10, DataType::F16),
    ("F32", 11, DataType::F32),
    ("F64", 12, DataType::F64),
    ("C64", 15, DataType::COMPLEX64),
    ("BF16", 16, DataType::BF16),
    ("C128", 18, DataType::COMPLEX128),
];
