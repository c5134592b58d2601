//! What libraries do with tensors: facts, each of which was measured.
//!
//! `tests/test_verdicts.py` gives them tensors of all kinds and compares.

use crate::ask::{FULL, NEWEST, NEWEST_ON_STREAM, ON_STREAM, PLAIN};

/// A library that imports tensors.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and no state")]
pub struct Consumer {
    /// The name that Python imports.
    pub name: &'static str,
    /// The version that the verdicts were measured with.
    pub version: &'static str,
    /// How it calls `__dlpack__`; the next entry is tried if the producer rejects the
    /// keywords.
    pub(crate) requests: &'static [&'static str],
    /// Whether any exception makes it try the next entry, and not only TypeError.
    pub(crate) retries_all: bool,
    /// Whether it uses exchange tables.
    pub(crate) reads_tables: bool,
    pub(crate) device: DeviceAsked,
    /// Whether it takes the versioned struct from `__dlpack__`.
    pub(crate) versioned: bool,
    /// Whether it takes the struct without a version from `__dlpack__`.
    pub(crate) legacy: bool,
    /// Whether it checks the major version.
    pub(crate) checks_major: bool,
    pub(crate) devices: Devices,
    pub(crate) layouts: Layouts,
    pub(crate) offset: Offset,
    pub(crate) alignment: Alignment,
    /// The maximum number of dimensions.
    pub(crate) ndim: usize,
    /// Whether it accepts tensors without dimensions.
    pub(crate) scalars: bool,
    /// Whether it rejects read-only memory.
    pub(crate) refuses_read_only: bool,
    pub(crate) always_copies: bool,
    /// Whether it ends the process when it releases a tensor without a deleter.
    pub(crate) calls_null_deleter: bool,
    /// Whether it never releases a tensor without a deleter, or without a context.
    pub(crate) leaks_null: bool,
    /// Whether it takes the device of an address from `__dlpack_device__`.
    pub(crate) believes_device: bool,
    /// Element types, by their names.
    pub(crate) dtypes: &'static [&'static [&'static str]],
    /// The element types that it converts to others.
    pub(crate) converted: &'static [&'static str],
}

/// How it uses `__dlpack_device__`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceAsked {
    /// Does not call it.
    No,
    /// Does not call it, but requires it to exist.
    Present,
    /// Uses the device type.
    Kind,
    /// Unpacks two items, and uses the device type.
    Pair,
    /// Uses the device type and the index.
    Both,
}

/// The devices whose memory a build without GPUs accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Devices {
    /// The CPU, index 0 or any other.
    Cpu,
    /// The CPU with index 0.
    CpuZero,
    /// The CPU with index 0, and its own: the devices of oneAPI.
    CpuAndOneApi,
    /// Memory that the CPU can read, including pinned and managed memory.
    Host,
    /// Any: it does not access the elements.
    Any,
}

/// The layouts that it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layouts {
    /// All.
    Any,
    /// Without negative strides.
    NotNegative,
    /// Without gaps, in any order of the axes.
    Compact,
    /// Row-major ones.
    RowMajor,
}

/// How it handles `byte_offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offset {
    /// Adds it.
    Added,
    /// Rejects every value but 0.
    Refused,
    /// Ignores it: reads from `data`.
    Ignored,
}

/// How it handles elements that are not aligned to 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alignment {
    /// Uses them.
    Any,
    /// Copies them.
    Copies,
    /// Accepts them, and ends the process in its first operation.
    Unusable,
}

const NUMBERS: &[&str] = &[
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "bool",
];
const REALS: &[&str] = &[
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
];
const BOOL: &[&str] = &["bool"];
const F16: &[&str] = &["float16"];
const BF16: &[&str] = &["bfloat16"];
const COMPLEX32: &[&str] = &["complex32"];
const FLOAT8: &[&str] = &["float8_e4m3fn", "float8_e5m2"];
const MORE_FLOAT8: &[&str] = &["float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"];
const RARE_FLOAT8: &[&str] = &["float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"];
const FLOAT4_PAIRS: &[&str] = &["float4_e2m1fnx2"];
const PACKED: &[&str] = &["float4_e2m1fn", "int4", "uint4"];
const EVERYTHING: &[&str] = &["*"];

/// A consumer without restrictions, from which the others differ.
const PLAIN_CONSUMER: Consumer = Consumer {
    name: "",
    version: "",
    requests: &[NEWEST, PLAIN],
    retries_all: false,
    reads_tables: false,
    device: DeviceAsked::Both,
    versioned: true,
    legacy: true,
    checks_major: true,
    devices: Devices::Cpu,
    layouts: Layouts::Any,
    offset: Offset::Added,
    alignment: Alignment::Any,
    ndim: 64,
    scalars: true,
    refuses_read_only: false,
    always_copies: false,
    calls_null_deleter: false,
    leaks_null: false,
    believes_device: false,
    dtypes: &[EVERYTHING],
    converted: &[],
};

/// The consumers for which a report has a verdict.
pub const CONSUMERS: &[Consumer] = &[
    Consumer {
        name: "numpy",
        version: "2.4.6",
        requests: &[FULL, PLAIN],
        device: DeviceAsked::No,
        devices: Devices::Host,
        dtypes: &[NUMBERS, F16],
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "torch",
        version: "2.15.0",
        device: DeviceAsked::Kind,
        layouts: Layouts::NotNegative,
        dtypes: &[NUMBERS, F16, BF16, COMPLEX32, FLOAT8, MORE_FLOAT8, FLOAT4_PAIRS],
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "jax",
        version: "0.10.2",
        requests: &[ON_STREAM],
        versioned: false,
        devices: Devices::CpuZero,
        layouts: Layouts::Compact,
        alignment: Alignment::Copies,
        calls_null_deleter: true,
        dtypes: &[NUMBERS, F16, BF16, FLOAT8, MORE_FLOAT8, RARE_FLOAT8],
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "jax",
        version: "0.12.0.1",
        requests: &[NEWEST_ON_STREAM, ON_STREAM],
        devices: Devices::CpuZero,
        layouts: Layouts::Compact,
        alignment: Alignment::Copies,
        calls_null_deleter: true,
        dtypes: &[NUMBERS, F16, BF16, FLOAT8, MORE_FLOAT8, RARE_FLOAT8],
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "tvm_ffi",
        version: "0.1.15",
        requests: &[PLAIN],
        reads_tables: true,
        versioned: false,
        device: DeviceAsked::No,
        devices: Devices::Any,
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "nanobind",
        version: "3.1.0",
        device: DeviceAsked::No,
        checks_major: false,
        devices: Devices::Any,
        refuses_read_only: true,
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "array_api_strict",
        version: "2.6.1",
        requests: &[FULL, PLAIN],
        device: DeviceAsked::No,
        devices: Devices::Host,
        dtypes: &[NUMBERS],
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "pyarrow",
        version: "26.0.1",
        requests: &[FULL],
        device: DeviceAsked::No,
        legacy: false,
        layouts: Layouts::NotNegative,
        dtypes: &[REALS, F16],
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "onnxruntime",
        version: "1.32.0",
        requests: &[PLAIN],
        device: DeviceAsked::No,
        versioned: false,
        layouts: Layouts::RowMajor,
        dtypes: &[REALS, BOOL, F16, BF16, FLOAT8, MORE_FLOAT8, PACKED],
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "cuda.core",
        version: "1.2.2",
        requests: &[NEWEST_ON_STREAM, ON_STREAM],
        checks_major: false,
        devices: Devices::CpuZero,
        believes_device: true,
        dtypes: &[NUMBERS, F16, BF16],
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "warp",
        version: "1.19.0",
        requests: &[ON_STREAM],
        versioned: false,
        device: DeviceAsked::Pair,
        offset: Offset::Ignored,
        ndim: 4,
        scalars: false,
        dtypes: &[REALS, BOOL, F16, BF16],
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "mlx",
        version: "0.32.4",
        requests: &[PLAIN, NEWEST],
        retries_all: true,
        device: DeviceAsked::No,
        checks_major: false,
        layouts: Layouts::NotNegative,
        always_copies: true,
        dtypes: &[NUMBERS, F16, BF16],
        converted: &["float64", "complex128"],
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "paddle",
        version: "3.3.1",
        device: DeviceAsked::Kind,
        offset: Offset::Ignored,
        ndim: 9,
        leaks_null: true,
        believes_device: true,
        dtypes: &[NUMBERS, F16, BF16, FLOAT8],
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "tensorflow",
        version: "2.21.0",
        requests: &[PLAIN],
        device: DeviceAsked::No,
        versioned: false,
        layouts: Layouts::RowMajor,
        offset: Offset::Refused,
        alignment: Alignment::Unusable,
        dtypes: &[NUMBERS, F16, BF16],
        ..PLAIN_CONSUMER
    },
    Consumer {
        name: "dpnp",
        version: "0.20.0",
        requests: &[FULL, PLAIN],
        device: DeviceAsked::Present,
        devices: Devices::CpuAndOneApi,
        offset: Offset::Ignored,
        calls_null_deleter: true,
        dtypes: &[NUMBERS, F16],
        ..PLAIN_CONSUMER
    },
];
