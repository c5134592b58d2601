//! The Python interpreters of this machine.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::outcome::Outcome;

/// Prints the fields of [`Interpreter`], one a line. Runs on any Python 3, so
/// that an old one is rejected with a sentence and not with a syntax error.
const PROBE: &str = r#"
import sys, sysconfig
try:
    import venv, ensurepip
    able = "yes"
except ImportError:
    able = "no"
print("%d.%d" % sys.version_info[:2])
print(able)
print(getattr(sys, "_base_executable", None) or sys.executable)
print(" ".join([sys.version, sysconfig.get_platform(), str(sysconfig.get_config_var("EXT_SUFFIX")), sys.base_prefix]).replace("\n", " "))
print(sys.base_prefix)
print(sysconfig.get_config_var("LIBDIR") or "")
"#;
/// What to do without an interpreter.
const ADVICE: &str = "install Python 3.11 or newer with its venv module (Debian and Ubuntu: apt-get \
                      install python3-venv), or name one with DLPACK_PYTHON.";

/// A Python 3.11 or newer that can make virtual environments.
#[derive(Debug)]
pub(crate) struct Interpreter {
    /// The interpreter itself, also where it was found through an environment.
    pub(crate) executable: PathBuf,
    /// `3.11` and the like.
    pub(crate) version: String,
    /// Version, build, platform and place: equal for interpreters that can share
    /// an environment.
    pub(crate) identity: String,
    /// `PYTHONHOME` of a program that embeds it.
    pub(crate) prefix: String,
    /// The folder of its library, which the dynamic linker has to find.
    pub(crate) libraries: String,
}

impl Interpreter {
    /// `$DLPACK_PYTHON`, else `python3`, else `python`.
    pub(crate) fn find() -> Outcome<&'static Self> {
        static FOUND: OnceLock<Outcome<Interpreter>> = OnceLock::new();
        let find = || match std::env::var("DLPACK_PYTHON") {
            Ok(name) => Self::called(&name),
            Err(_) => {
                Self::called("python3").or_else(|error| Self::called("python").map_err(|_| error))
            }
        };
        FOUND.get_or_init(find).as_ref().map_err(Clone::clone)
    }

    /// CPython 3.13 or 3.12, which the newest libraries require: by the names
    /// that a system gives them, or from pyenv. Nothing where there is none.
    pub(crate) fn newest() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Interpreter>> = OnceLock::new();
        let find = |version: &str| {
            let plain = format!("python{version}");
            let pyenv = || {
                let prefix = Command::new("pyenv").args(["prefix", version]).output().ok()?.stdout;
                let prefix = String::from_utf8_lossy(&prefix);
                Self::called(&format!("{}/bin/{plain}", prefix.trim())).ok()
            };
            Self::called(&plain).ok().or_else(pyenv).filter(|found| found.version == version)
        };
        FOUND.get_or_init(|| ["3.13", "3.12"].into_iter().find_map(find)).as_ref()
    }

    fn called(name: &str) -> Outcome<Self> {
        let output = Command::new(name).args(["-c", PROBE]).stdin(Stdio::null()).output();
        let output =
            output.map_err(|error| format!("`{name}` does not run ({error}); {ADVICE}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<&str> = text.lines().collect();
        let [version, able, executable, identity, prefix, libraries] = lines[..] else {
            return Err(format!("`{name}` does not print its version; {ADVICE}"));
        };
        let minor = version.strip_prefix("3.").and_then(|minor| minor.parse::<u32>().ok());
        if minor.is_none_or(|minor| minor < 11) {
            return Err(format!("`{name}` is Python {version}; {ADVICE}"));
        }
        if able != "yes" {
            return Err(format!("`{name}` cannot make virtual environments; {ADVICE}"));
        }
        Ok(Self {
            executable: PathBuf::from(executable),
            version: version.to_owned(),
            identity: identity.to_owned(),
            prefix: prefix.to_owned(),
            libraries: libraries.to_owned(),
        })
    }
}
