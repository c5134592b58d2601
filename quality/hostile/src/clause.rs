//! What a consumer must do with a case, and the clause of the standard.

use core::fmt;

/// What a consumer must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// It raises: the standard requires it, or the metadata cannot describe a tensor,
    /// which can be detected without following a pointer.
    Refuse,
    /// It accepts the tensor: the standard allows it, and every element has a type, and a
    /// location, that any consumer supports.
    Accept,
    /// Either, as long as nothing is leaked, read twice or read when it must not be.
    May,
    /// The producer lies in a way that no consumer can detect: reported, and not counted.
    Undefined,
}

impl fmt::Display for Duty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuse => "refuse",
            Self::Accept => "accept",
            Self::May => "may",
            Self::Undefined => "undefined",
        })
    }
}

/// A place in the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// `DLPackVersion`.
    Version,
    /// `DLManagedTensorVersioned.flags`.
    Flags,
    /// `manager_ctx` of both structs.
    Context,
    /// `deleter` of both structs.
    Deleter,
    /// `DLTensor.ndim`.
    Ndim,
    /// `DLTensor.shape`.
    Shape,
    /// `DLTensor.strides`.
    Strides,
    /// `DLTensor.byte_offset`.
    ByteOffset,
    /// `DLTensor.data`.
    Data,
    /// `GetDataSize`.
    Size,
    /// `DLDataType`.
    DType,
    /// `DLDevice`.
    Device,
    /// Names of capsules.
    Capsule,
    /// `__dlpack__`.
    Method,
    /// `__dlpack_device__`.
    DeviceMethod,
    /// `DLPackExchangeAPIHeader`.
    TableHeader,
    /// `DLPackExchangeAPI`.
    Table,
}

impl Clause {
    /// The place, in a few letters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Version => "DLPackVersion",
            Self::Flags => "flags",
            Self::Context => "manager_ctx",
            Self::Deleter => "deleter",
            Self::Ndim => "DLTensor.ndim",
            Self::Shape => "DLTensor.shape",
            Self::Strides => "DLTensor.strides",
            Self::ByteOffset => "DLTensor.byte_offset",
            Self::Data => "DLTensor.data",
            Self::Size => "GetDataSize",
            Self::DType => "DLDataType",
            Self::Device => "DLDevice",
            Self::Capsule => "capsule",
            Self::Method => "__dlpack__",
            Self::DeviceMethod => "__dlpack_device__",
            Self::TableHeader => "table header",
            Self::Table => "exchange table",
        }
    }

    /// The requirement of the clause, in our words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Version => {
                "dlpack.h: of another major version only the deleter may be used; another minor \
                 version is safe where every field is understood"
            }
            Self::Flags => {
                "dlpack.h: READ_ONLY, IS_COPIED and padding of small types; array API: a consumer \
                 without read-only arrays ignores the flag"
            }
            Self::Context => "dlpack.h: owned by the producer, for its deleter; it can be NULL",
            Self::Deleter => "dlpack.h: called once by the consumer; it can be NULL",
            Self::Ndim => "dlpack.h: a number of dimensions",
            Self::Shape => "dlpack.h: sizes of dimensions; NULL only without dimensions",
            Self::Strides => {
                "dlpack.h: strides in elements; NULL only without dimensions, or before 1.2, where it \
                 means contiguous"
            }
            Self::ByteOffset => "dlpack.h: bytes from data to the first element",
            Self::Data => "dlpack.h: points to the elements; NULL where there are none",
            Self::Size => "dlpack.h: the bytes of a tensor are a size_t",
            Self::DType => "dlpack.h: codes, bits and lanes of elements",
            Self::Device => "dlpack.h: where the memory is",
            Self::Capsule => {
                "Python specification: a tensor is in a capsule named dltensor or \
                 dltensor_versioned, and is consumed once its name starts with used_"
            }
            Self::Method => {
                "array API: __dlpack__ returns a capsule; an old one accepts fewer keywords; its \
                 exceptions are passed on"
            }
            Self::DeviceMethod => "array API: __dlpack_device__ returns a type and a number",
            Self::TableHeader => {
                "dlpack.h: the major version is checked first; older tables are behind prev_api"
            }
            Self::Table => {
                "dlpack.h: a capsule named dlpack_exchange_api on the type; 0 and a tensor, or -1 \
                 and an exception"
            }
        }
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
