//! How a step or a part of it ends.

/// A value, or a sentence that says what is wrong and what to do.
pub(crate) type Outcome<T = ()> = Result<T, String>;
/// A value, or why a step did not pass.
pub(crate) type Ending<T = ()> = Result<T, Stop>;

/// Why a step did not pass.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// What it checks does not hold, and what to do.
    Failed(String),
    /// It could not run here, and why.
    Skipped(String),
}

impl From<String> for Stop {
    fn from(sentence: String) -> Self {
        Self::Failed(sentence)
    }
}

impl From<&str> for Stop {
    fn from(sentence: &str) -> Self {
        Self::Failed(sentence.to_owned())
    }
}

/// The ending of a step that cannot run because all `tools`, names with commas between them, are
/// missing: a failure where `DLPACK_REQUIRE` names one of them.
pub(crate) fn missing<T>(tools: &str, reason: impl Into<String>) -> Ending<T> {
    let required = std::env::var("DLPACK_REQUIRE").unwrap_or_default();
    Err(stop_without(tools, &required, &reason.into()))
}

/// As [`missing`], unless something is there.
pub(crate) fn need(is_there: bool, tools: &str, reason: &str) -> Ending {
    if is_there { Ok(()) } else { missing(tools, reason) }
}

fn stop_without(tools: &str, required: &str, reason: &str) -> Stop {
    let reason = reason.trim_end_matches('.');
    let mut required = required.split(',').map(str::trim);
    match required.find(|name| tools.split(',').any(|tool| tool == *name)) {
        Some(name) => Stop::Failed(format!("DLPACK_REQUIRE names {name}, but {reason}.")),
        None => Stop::Skipped(reason.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_required_tool_must_not_be_missing() {
        let stop = |required| stop_without("vulkan,webgpu", required, "there is no lavapipe.");
        for required in ["", "numpy,torch", "vulkan2"] {
            assert_eq!(stop(required), Stop::Skipped("there is no lavapipe".to_owned()));
        }
        let failed = "DLPACK_REQUIRE names webgpu, but there is no lavapipe.";
        assert_eq!(stop("numpy, webgpu"), Stop::Failed(failed.to_owned()));
    }
}
