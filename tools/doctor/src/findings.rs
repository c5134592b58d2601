//! What breaks the standard, from facts alone.

use dlpack_traits::{DataType, Flags, MAX_NDIM};

use crate::ask::{NEWEST, PLAIN};
use crate::read::{self, LEGACY, VERSIONED};
use crate::report::{
    Answer, Array, CapsuleFacts, DeviceAnswer, Finding, Report, Severity, TableFacts, TensorFacts,
};

/// Collects findings without duplicates.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, severity: Severity, rule: &str, message: String) {
        let finding = Finding { severity, rule: rule.to_owned(), message };
        if !self.0.contains(&finding) {
            self.0.push(finding);
        }
    }

    fn error(&mut self, rule: &str, message: impl Into<String>) {
        self.add(Severity::Error, rule, message.into());
    }

    fn warning(&mut self, rule: &str, message: impl Into<String>) {
        self.add(Severity::Warning, rule, message.into());
    }

    fn note(&mut self, rule: &str, message: impl Into<String>) {
        self.add(Severity::Note, rule, message.into());
    }
}

/// All findings of a report, the worst first.
pub(crate) fn of(report: &Report) -> Vec<Finding> {
    let mut found = Findings::default();
    device(report, &mut found);
    for request in &report.requests {
        answer(&request.keywords, &request.answer, &mut found);
    }
    agreement(report, &mut found);
    if let Some(facts) = &report.table {
        table(facts, &mut found);
    }
    for check in &report.checks {
        if check.severity != Severity::Note {
            found.add(check.severity, "live", format!("{}: {}", check.name, check.seen));
        }
    }
    found.0.sort_by_key(|finding| finding.severity);
    found.0
}

fn device(report: &Report, found: &mut Findings) {
    let said = match &report.device {
        DeviceAnswer::Missing => {
            return found.error(
                "device-missing",
                "it has no `__dlpack_device__`, which consumers call first",
            );
        }
        DeviceAnswer::Raised { exception, message } => {
            return found.error(
                "device-raises",
                format!("`__dlpack_device__` raises {exception}: {message}"),
            );
        }
        DeviceAnswer::Odd { found: odd, .. } => {
            return found.error(
                "device-odd",
                format!("`__dlpack_device__` answers {odd}, not a pair of integers"),
            );
        }
        DeviceAnswer::Said(said) => said,
    };
    for request in &report.requests {
        if let Some(tensor) = request.answer.tensor().filter(|tensor| tensor.device != *said) {
            found.error(
                "device-lies",
                format!(
                    "`__dlpack_device__` says {}, and the tensor is on {}",
                    said.name, tensor.device.name
                ),
            );
        }
    }
}

fn answer(keywords: &str, answer: &Answer, found: &mut Findings) {
    match answer {
        Answer::Odd { found: odd } => found.error(
            "no-capsule",
            format!("`__dlpack__({keywords})` returns {odd}, not a capsule"),
        ),
        Answer::Raised { exception, message } => match (exception.as_str(), keywords) {
            ("BufferError", _) => found.note(
                "refuses",
                format!("`__dlpack__({keywords})` refuses: {message}"),
            ),
            ("TypeError", keywords) if keywords.contains("max_version") => found.note(
                "old-keywords",
                format!("`__dlpack__` does not know all of `{keywords}`: consumers call again without"),
            ),
            ("AttributeError", _) if message.contains("__dlpack__") => {
                found.error("no-producer", "it has no `__dlpack__`: this is not a tensor");
            }
            _ => found.error(
                "raises",
                format!(
                    "`__dlpack__({keywords})` raises {exception}, where the standard has BufferError: \
                     {message}"
                ),
            ),
        },
        Answer::Capsule(capsule) => self::capsule(keywords, capsule, found),
    }
}

fn capsule(keywords: &str, capsule: &CapsuleFacts, found: &mut Findings) {
    let newest = keywords.contains("max_version");
    match capsule.name.as_deref() {
        Some(VERSIONED) if !newest => found.error(
            "capsule-kind",
            format!(
                "`__dlpack__({keywords})` returns a versioned capsule for a request of a legacy one"
            ),
        ),
        Some(LEGACY) if newest => found.note(
            "legacy-only",
            format!("`__dlpack__({keywords})` gives the legacy capsule, which has no flags"),
        ),
        Some(LEGACY | VERSIONED) => {}
        Some(name) => found.error(
            "capsule-name",
            format!("the capsule is named {name:?}, not \"dltensor_versioned\" or \"dltensor\""),
        ),
        None => found.error("capsule-name", "the capsule has no name"),
    }
    if capsule.destructor.is_none() {
        found.warning(
            "no-destructor",
            "the capsule has no destructor: a tensor that no consumer takes is never released",
        );
    }
    match &capsule.tensor {
        Some(tensor) => self::tensor(tensor, found),
        None if matches!(capsule.name.as_deref(), Some(LEGACY | VERSIONED)) => {
            found.error("no-struct", "the capsule's pointer leads to no memory");
        }
        None => {}
    }
    if let Some(Err(reason)) = &capsule.accepted {
        found.error("refused", format!("`dlpack-traits` refuses the tensor: {reason}"));
    }
}

fn tensor(tensor: &TensorFacts, found: &mut Findings) {
    if let Some((major, minor)) = tensor.version {
        if major != 1 {
            return found.error(
                "version",
                format!("the struct is of version {major}.{minor}: consumers may read no further"),
            );
        }
        if minor > 3 {
            found.note("later-version", format!("version 1.{minor} is later than this program"));
        }
    }
    let known =
        Flags::READ_ONLY.bits() | Flags::IS_COPIED.bits() | Flags::IS_SUBBYTE_TYPE_PADDED.bits();
    if tensor.flags & !known != 0 {
        found.warning("flags", format!("flags {:#x} have bits without a meaning", tensor.flags));
    }
    if tensor.deleter.is_none() {
        found.warning(
            "null-deleter",
            "the deleter is NULL, which is allowed; JAX and dpnp call it all the same",
        );
    } else if tensor.manager_ctx == 0 {
        found.note(
            "null-context",
            "`manager_ctx` is NULL, which is allowed; Paddle never calls the deleter then",
        );
    }
    dtype(tensor, found);
    dims(tensor, found);
    memory(tensor, found);
}

fn dtype(tensor: &TensorFacts, found: &mut Findings) {
    let dtype = read::dtype_of(tensor);
    if dtype.element_bits() == 0 {
        found.error("dtype", format!("the element type has {} bits", no_bits(dtype)));
    } else if !dtype.is_well_formed() {
        let (code, bits, lanes) = tensor.dtype;
        found.error(
            "dtype",
            format!("no element type has code {code}, {bits} bits and {lanes} lanes"),
        );
    }
}

fn no_bits(dtype: DataType) -> String {
    format!("{} x {} lanes =", dtype.bits(), dtype.lanes()).trim_end_matches(" =").to_owned()
}

fn dims(tensor: &TensorFacts, found: &mut Findings) {
    let ndim = tensor.ndim;
    if ndim < 0 {
        return found.error("ndim", format!("`ndim` is {ndim}"));
    }
    if usize::try_from(ndim).is_ok_and(|ndim| ndim > MAX_NDIM) {
        found.warning("ndim", format!("{ndim} dimensions are more than NumPy's {MAX_NDIM}"));
    }
    match &tensor.shape {
        Array::Null => {
            found.error("null-shape", format!("`shape` is NULL, with {ndim} dimensions"));
        }
        Array::Unreadable => found.error("bad-shape", "`shape` leads to no memory"),
        Array::Uncounted => {}
        Array::Values(shape) => {
            if let Some(axis) = shape.iter().position(|&dim| dim < 0) {
                let dim = shape.get(axis).copied().unwrap_or_default();
                found.error("negative-shape", format!("dimension {axis} has {dim} elements"));
            }
        }
    }
    match &tensor.strides {
        Array::Null if tensor.version >= Some((1, 2)) => found.error(
            "null-strides",
            "`strides` is NULL, which version 1.2 forbids (it meant compact before)",
        ),
        Array::Null => found.note("null-strides", "`strides` is NULL: compact elements"),
        Array::Unreadable => found.error("bad-strides", "`strides` leads to no memory"),
        Array::Uncounted | Array::Values(_) => {}
    }
}

fn memory(tensor: &TensorFacts, found: &mut Findings) {
    let device = read::device_of(tensor);
    if !device.is_host() && tensor.device.device_type <= 0 {
        found.error("device", format!("no device has kind {}", tensor.device.device_type));
    }
    if device.is_host() && tensor.device.device_id != 0 {
        found.warning(
            "device-id",
            format!("the index of {} is {}, not 0", tensor.device.name, tensor.device.device_id),
        );
    }
    let Some(layout) = &tensor.layout else { return };
    if layout.numel > 0 && tensor.data == 0 && device.has_addresses() {
        found.error("null-data", format!("`data` is NULL, with {} elements", layout.numel));
    }
    if layout.mapped == Some(false) {
        let (start, end) = layout.bytes;
        found.error(
            "no-memory",
            format!("there is no memory at some of the bytes {start} to {end} that hold elements"),
        );
    }
    if let (Some(alignment), Some(size)) = (layout.alignment, read::dtype_of(tensor).byte_size()) {
        // The alignment of a complex number is that of its parts, of a vector that of one
        // lane.
        let dtype = read::dtype_of(tensor);
        let needed =
            if dtype.is_complex() { size as u64 / 2 } else { u64::from(dtype.bits()).div_ceil(8) };
        if alignment < needed.min(8) {
            found.warning(
                "misaligned",
                format!(
                    "the first element is aligned to {alignment} bytes, its type to {}",
                    needed.min(8)
                ),
            );
        }
        if alignment < 64 {
            found.note(
                "alignment",
                format!("aligned to {alignment} bytes: below 64 JAX copies, and TensorFlow ends the process"),
            );
        }
    }
    if tensor.byte_offset != 0 && device.has_addresses() {
        found.note(
            "byte-offset",
            format!(
                "`byte_offset` is {}: Paddle and dpnp do not add it, TensorFlow refuses it",
                tensor.byte_offset
            ),
        );
    }
    let read_only = Flags::from_bits(tensor.flags).contains(Flags::READ_ONLY);
    if layout.overlap && !read_only && tensor.version.is_some() {
        found.note("overlap", "indices share elements, and the tensor is not READ_ONLY");
    }
}

/// Whether all exports describe the same tensor.
fn agreement(report: &Report, found: &mut Findings) {
    let Some(first) = report.tensor() else { return };
    let what = |tensor: &TensorFacts| (tensor.shape.clone(), tensor.dtype, tensor.device.clone());
    for request in &report.requests {
        if request.answer.tensor().is_some_and(|tensor| what(tensor) != what(first)) {
            found.error(
                "disagreement",
                format!(
                    "`__dlpack__({})` and `__dlpack__({})` give tensors of another shape, type or device",
                    NEWEST, request.keywords
                ),
            );
        }
    }
    let newest = report.answer(NEWEST).and_then(Answer::tensor);
    let plain = report.answer(PLAIN).and_then(Answer::tensor);
    if let (Some(newest), Some(plain)) = (newest, plain) {
        let read_only = Flags::from_bits(newest.flags).contains(Flags::READ_ONLY);
        if read_only && plain.version.is_none() && newest.data == plain.data {
            found.note(
                "read-only-lost",
                "READ_ONLY memory is given as a legacy capsule too, which cannot say so",
            );
        }
    }
}

fn table(facts: &TableFacts, found: &mut Findings) {
    if let Some(reason) = &facts.unreadable {
        found.error("table", format!("the exchange table cannot be read: {reason}"));
    }
    for slot in &facts.slots {
        if slot.required && slot.place.is_none() {
            found.error(
                "table-slot",
                format!(
                    "`{}` of the exchange table is NULL, which the standard forbids",
                    slot.name
                ),
            );
        }
    }
    if facts.attribute != "__dlpack_c_exchange_api__" {
        found.note("table-name", format!("the table has the name of 1.2: `{}`", facts.attribute));
    }
}
