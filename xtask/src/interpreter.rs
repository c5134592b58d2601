//! The Python interpreter of this machine.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::checkout::{Checkout, Outcome};
use crate::run::answer_of;

/// Prints what [`Interpreter`] holds, one fact a line. Runs on any Python 3, so
/// that an old one is refused with a sentence and not with a syntax error.
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
"#;

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
}

impl Interpreter {
    /// `$DLPACK_PYTHON`, else `python3`, else `python`.
    pub(crate) fn find(checkout: &Checkout) -> Outcome<Self> {
        if let Some(named) = std::env::var_os("DLPACK_PYTHON") {
            let name = named.to_string_lossy().into_owned();
            let facts = probe(checkout, &name).ok_or_else(|| {
                format!(
                    "DLPACK_PYTHON names `{name}`, which does not run; name a Python 3.11 or newer."
                )
            })?;
            return Self::judge(&name, &facts);
        }
        let mut refusal = None;
        for name in ["python3", "python"] {
            let Some(facts) = probe(checkout, name) else { continue };
            match Self::judge(name, &facts) {
                Ok(found) => return Ok(found),
                Err(sentence) => refusal = refusal.or(Some(sentence)),
            }
        }
        Err(refusal.unwrap_or_else(|| {
            "there is no `python3` here; install Python 3.11 or newer with its venv module \
             (Debian and Ubuntu: apt-get install python3-venv), or name one with DLPACK_PYTHON."
                .to_owned()
        }))
    }

    /// CPython 3.13 or 3.12, which the newest libraries ask for: by the names
    /// that a system gives them, or from pyenv. Nothing where there is none.
    pub(crate) fn newest(checkout: &Checkout) -> Option<Self> {
        ["3.13", "3.12"].into_iter().find_map(|version| {
            let plain = format!("python{version}");
            let of_pyenv = || {
                let prefix = answer_of("pyenv", &["prefix", version])?;
                let place = PathBuf::from(prefix.trim()).join("bin").join(&plain);
                probe(checkout, &place.to_string_lossy())
            };
            let facts = probe(checkout, &plain).or_else(of_pyenv)?;
            Self::judge(&plain, &facts).ok().filter(|found| found.version == version)
        })
    }

    fn judge(name: &str, facts: &str) -> Outcome<Self> {
        let mut lines = facts.lines();
        let (Some(version), Some(able), Some(executable), Some(identity)) =
            (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(format!(
                "`{name}` did not say which Python it is; name a Python 3.11 or newer with DLPACK_PYTHON."
            ));
        };
        if !new_enough(version) {
            return Err(format!(
                "`{name}` is Python {version}; install Python 3.11 or newer, or name one with DLPACK_PYTHON."
            ));
        }
        if able != "yes" {
            return Err(format!(
                "Python {version} (`{executable}`) cannot make virtual environments; install its venv \
                 module (Debian and Ubuntu: apt-get install python{version}-venv), or name another \
                 Python with DLPACK_PYTHON."
            ));
        }
        Ok(Self {
            executable: PathBuf::from(executable),
            version: version.to_owned(),
            identity: identity.to_owned(),
        })
    }
}

/// What `name` answers to the probe, or nothing where it does not run.
fn probe(checkout: &Checkout, name: &str) -> Option<String> {
    let output = Command::new(name)
        .args(["-c", PROBE])
        .current_dir(checkout.root())
        .stdin(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn new_enough(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (3, 11)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(new_enough("3.11"));
        assert!(new_enough("3.14"));
        assert!(!new_enough("3.9"));
        assert!(!new_enough("2.7"));
    }

    #[test]
    fn a_python_without_venv_is_refused_with_what_to_install() {
        let refusal = Interpreter::judge("python3", "3.12\nno\n/usr/bin/python3\nx\n").unwrap_err();
        assert!(refusal.contains("apt-get install python3.12-venv"), "{refusal}");
    }

    #[test]
    fn an_old_python_is_refused_by_its_version() {
        let refusal =
            Interpreter::judge("python3", "3.10\nyes\n/usr/bin/python3\nx\n").unwrap_err();
        assert!(refusal.contains("Python 3.10"), "{refusal}");
    }
}
