//! Mistakes of a Python object around a valid struct: [`oddities`].

use core::ffi::CStr;

use crate::{Clause, Duty};

/// The unusual property of an object that has a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// Its capsule has another name, or none.
    Named(Option<&'static CStr>),
    /// The name of its capsule is that of a consumed one.
    Used,
    /// It has no methods at all.
    NoMethods,
    /// It has a device and no `__dlpack__`.
    NoExport,
    /// `__dlpack__` returns None.
    ReturnsNone,
    /// `__dlpack__` returns the address of the struct.
    ReturnsAddress,
    /// `__dlpack__` returns the capsule in a tuple.
    ReturnsTuple,
    /// `__dlpack__` raises BufferError.
    RaisesBufferError,
    /// `__dlpack__` raises MemoryError.
    RaisesMemoryError,
    /// `__dlpack__` accepts `stream` and no other keyword.
    KnowsStreamOnly,
    /// `__dlpack_device__` returns `cuda:0`, the struct has `cpu`.
    DeviceSaysCuda,
    /// `__dlpack_device__` returns `cpu`, the struct has `cuda:1`.
    DeviceSaysCpu,
    /// `__dlpack_device__` returns None.
    DeviceSaysNone,
    /// `__dlpack_device__` returns a pair of texts.
    DeviceSaysTexts,
    /// `__dlpack_device__` returns three numbers.
    DeviceSaysThree,
    /// `__dlpack_device__` returns numbers that fit in no `int`.
    DeviceSaysHuge,
    /// `__dlpack_device__` raises ValueError, and the struct has `cuda:1`.
    DeviceRaises,
}

impl Oddity {
    /// Whether the tensor's declared device is `cuda:1`.
    pub const fn is_on_device(self) -> bool {
        matches!(self, Self::DeviceSaysCpu | Self::DeviceRaises)
    }

    /// Whether the struct was already consumed.
    pub const fn is_taken(self) -> bool {
        matches!(self, Self::Used)
    }
}

/// An odd object.
#[derive(Clone, Copy, Debug)]
pub struct OddCase {
    /// The unusual property.
    pub oddity: Oddity,
    /// The rule of `docs/soundness.md`, and the unusual property.
    pub words: &'static str,
    /// The clause of the standard.
    pub clause: Clause,
    /// What a consumer must do.
    pub duty: Duty,
    /// What this project's consumer raises, if it does: the exception and a part of its
    /// text.
    pub ours: Option<[&'static str; 2]>,
}

const fn odd(
    oddity: Oddity,
    words: &'static str,
    clause: Clause,
    duty: Duty,
    ours: Option<[&'static str; 2]>,
) -> OddCase {
    OddCase { oddity, words, clause, duty, ours }
}

/// Odd capsules.
const CAPSULES: [OddCase; 7] = {
    const fn named(
        name: Option<&'static CStr>,
        words: &'static str,
        text: &'static str,
    ) -> OddCase {
        let ours = Some(["ValueError", text]);
        odd(Oddity::Named(name), words, Clause::Capsule, Duty::Refuse, ours)
    }
    const OTHER: &str = "holds no tensor";
    [
        odd(
            Oddity::Used,
            "L2 capsule whose tensor was taken",
            Clause::Capsule,
            Duty::Refuse,
            Some(["ValueError", "the tensor of this capsule was taken before; export it again"]),
        ),
        named(None, "L2 capsule without a name", "a capsule without a name holds no tensor"),
        named(Some(c""), "L2 capsule with an empty name", OTHER),
        named(Some(c"DLTENSOR"), "L2 capsule `DLTENSOR`", OTHER),
        named(Some(c"dltensor_"), "L2 capsule `dltensor_`", OTHER),
        named(Some(c"dltenso"), "L2 capsule `dltenso`", OTHER),
        named(Some(c"numpy.core.umath"), "L2 capsule of something else", OTHER),
    ]
};

/// Odd `__dlpack__`.
const METHODS: [OddCase; 8] = {
    const fn refused(oddity: Oddity, words: &'static str, ours: [&'static str; 2]) -> OddCase {
        odd(oddity, words, Clause::Method, Duty::Refuse, Some(ours))
    }
    const MISSING: [&str; 2] = ["AttributeError", "__dlpack__"];
    const NO_CAPSULE: [&str; 2] = ["TypeError", "must return a capsule"];
    [
        refused(Oddity::NoMethods, "object without methods", MISSING),
        refused(Oddity::NoExport, "object with a device and no tensor", MISSING),
        refused(Oddity::ReturnsNone, "__dlpack__ returns None", NO_CAPSULE),
        refused(Oddity::ReturnsAddress, "__dlpack__ returns a number", NO_CAPSULE),
        refused(Oddity::ReturnsTuple, "__dlpack__ returns a tuple", NO_CAPSULE),
        refused(
            Oddity::RaisesBufferError,
            "__dlpack__ raises BufferError",
            ["BufferError", "the producer's own words"],
        ),
        refused(
            Oddity::RaisesMemoryError,
            "__dlpack__ raises MemoryError",
            ["MemoryError", "the producer's own words"],
        ),
        odd(
            Oddity::KnowsStreamOnly,
            "__dlpack__ knows `stream` only",
            Clause::Method,
            Duty::Accept,
            None,
        ),
    ]
};

/// Unusual results of `__dlpack_device__`: a consumer need not call it, nor trust it.
const DEVICES: [OddCase; 7] = {
    const fn device(
        oddity: Oddity,
        words: &'static str,
        ours: Option<[&'static str; 2]>,
    ) -> OddCase {
        odd(oddity, words, Clause::DeviceMethod, Duty::May, ours)
    }
    [
        device(Oddity::DeviceSaysCuda, "F12 device says cuda:0, struct says cpu", None),
        device(
            Oddity::DeviceSaysCpu,
            "F12 device says cpu, struct says cuda:1",
            Some(["BufferError", "`__dlpack_device__` returned cpu, but the tensor is on cuda:1"]),
        ),
        device(Oddity::DeviceSaysNone, "__dlpack_device__ returns None", None),
        device(Oddity::DeviceSaysTexts, "__dlpack_device__ returns texts", None),
        device(Oddity::DeviceSaysThree, "__dlpack_device__ returns three numbers", None),
        device(Oddity::DeviceSaysHuge, "__dlpack_device__ returns huge numbers", None),
        device(
            Oddity::DeviceRaises,
            "__dlpack_device__ raises ValueError, struct says cuda:1",
            Some(["ValueError", "the producer's own words"]),
        ),
    ]
};

/// All of them.
pub fn oddities() -> impl Iterator<Item = OddCase> {
    CAPSULES.into_iter().chain(METHODS).chain(DEVICES)
}
