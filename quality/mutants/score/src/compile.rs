//! Builds the tests with all mutants in them. Mutants that do not compile are removed, as
//! the compiler's spans name them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Job;
use crate::list::Mutant;
use crate::rewrite::{Changed, rewrite};
use crate::switch;

/// Rounds in which mistakes may be taken out.
const ROUNDS: usize = 40;
const LIB: &str = "dlpack-traits/src/lib.rs";
const FEATURES: &str = "--features=derive,half,bytes,memmap2,ndarray";

/// A program of tests, and where cargo would run it.
#[derive(Clone, Debug)]
pub(crate) struct Binary {
    pub(crate) program: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
}

pub(crate) fn compile(job: &Job, mutants: &mut [Mutant]) -> Result<Vec<Binary>, String> {
    let mut originals = BTreeMap::new();
    let files = mutants.iter().map(|mutant| mutant.file.clone()).chain([LIB.to_owned()]);
    for file in files.collect::<BTreeSet<String>>() {
        let path = job.sources.join(&file);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{} cannot be read ({error}).", path.display()))?;
        originals.insert(file, text);
    }
    for round in 1..=ROUNDS {
        let changed = change(job, &originals, mutants)?;
        let wrong = check(job, &changed)?;
        println!("round {round}: {} do not compile", wrong.len());
        if wrong.is_empty() {
            left_out(job, &changed, mutants)?;
            return build(job);
        }
        for number in wrong {
            mutants[number - 1].unviable = true;
        }
    }
    Err(format!("after {ROUNDS} rounds it does not compile."))
}

/// Writes the files. Numbers of mutants begin at 1.
fn change(
    job: &Job,
    originals: &BTreeMap<String, String>,
    mutants: &mut [Mutant],
) -> Result<BTreeMap<String, Changed>, String> {
    let mut changed = BTreeMap::new();
    for (file, text) in originals {
        let mut ours: Vec<(usize, &mut Mutant)> = mutants
            .iter_mut()
            .enumerate()
            .map(|(index, mutant)| (index + 1, mutant))
            .filter(|(_, mutant)| mutant.file == *file && !mutant.unviable)
            .collect();
        let mut new = rewrite(text, &mut ours).map_err(|error| format!("{file}: {error}."))?;
        if file == LIB {
            let at = new.text.find("#![no_std]").ok_or("lib.rs has no `#![no_std]`.")?;
            new.text.insert_str(at, switch::FEATURES);
            new.text.push_str(switch::MODULE);
        }
        std::fs::write(job.sources.join(file), &new.text)
            .map_err(|error| format!("{file} cannot be written ({error})."))?;
        changed.insert(file.clone(), new);
    }
    Ok(changed)
}

fn cargo(job: &Job, arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).args(arguments).current_dir(&job.sources);
    command.env("CARGO_TARGET_DIR", &job.target);
    command.env("RUSTFLAGS", "--cap-lints=allow");
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    command.env("CARGO_INCREMENTAL", "0");
    command.stderr(Stdio::inherit());
    command
}

fn messages(mut command: Command) -> Result<(bool, Vec<Value>), String> {
    let output = command.output().map_err(|error| format!("cargo does not start ({error})."))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Ok((output.status.success(), messages))
}

/// The mutants that errors are about.
fn check(job: &Job, changed: &BTreeMap<String, Changed>) -> Result<BTreeSet<usize>, String> {
    // As a test, too: with those features more is compiled.
    let arguments = ["check", "--quiet", "--message-format=json", "-p=dlpack-traits", "--lib"];
    let mut command = cargo(job, &arguments);
    command.args(["--profile=test", FEATURES]);
    let (fine, messages) = messages(command)?;
    let mut wrong = BTreeSet::new();
    if fine {
        return Ok(wrong);
    }
    let mut unknown = Vec::new();
    // Mutants of the functions with errors that are not in the text of a mutant.
    let mut around = BTreeSet::new();
    for message in &messages {
        let message = &message["message"];
        if message["level"] != "error" {
            continue;
        }
        let spans = message["spans"].as_array().map_or(&[][..], Vec::as_slice);
        let mut found = BTreeSet::new();
        for primary in [true, false] {
            for span in spans.iter().filter(|span| span["is_primary"] == primary) {
                found.extend(mutant_at(span, changed));
            }
            if !found.is_empty() {
                break;
            }
        }
        if message["code"]["code"] == "E0004" {
            // Without that arm the match does not cover all values.
            found.extend(spans.iter().filter_map(|span| arm_behind(span, changed)));
        }
        if found.is_empty() && !spans.is_empty() {
            let primary = spans.iter().filter(|span| span["is_primary"] == true);
            around.extend(primary.filter_map(|span| return_around(span, changed)));
            unknown.push(message["rendered"].as_str().unwrap_or("").to_owned());
        }
        wrong.extend(found);
    }
    if wrong.is_empty() {
        wrong = around;
    }
    if wrong.is_empty() {
        return Err(format!("no mutant is to blame:\n{}", unknown.join("\n")));
    }
    Ok(wrong)
}

/// The file of a compiler span. A module with `#[path = "."]` has a `.` in the paths of its own.
fn file_of<'a>(span: &Value, changed: &'a BTreeMap<String, Changed>) -> Option<&'a Changed> {
    changed.get(&span["file_name"].as_str()?.replace("/./", "/"))
}

/// Returns the mutant whose text a compiler span touches: the smallest one, as mutants
/// may be nested.
fn mutant_at(span: &Value, changed: &BTreeMap<String, Changed>) -> Option<usize> {
    let file = file_of(span, changed)?;
    let start = usize::try_from(span["byte_start"].as_u64()?).ok()?;
    let end = usize::try_from(span["byte_end"].as_u64()?).ok()?;
    // `lib.rs` has lines in front.
    let touches = |place: &&(usize, std::ops::Range<usize>)| {
        place.1.start < end.max(start + 1) && start < place.1.end
    };
    let inside = file.places.iter().filter(touches).min_by_key(|(_, place)| place.len());
    inside.map(|(number, _)| *number)
}

/// Returns the first mutant that returns early from the innermost function around a
/// compiler span. In a function that returns `impl Trait`, the early return determines the
/// type, and the compiler reports that the original expression has another one.
fn return_around(span: &Value, changed: &BTreeMap<String, Changed>) -> Option<usize> {
    let file = file_of(span, changed)?;
    let start = usize::try_from(span["byte_start"].as_u64()?).ok()?;
    let around = file.bodies.iter().filter(|(_, body)| body.contains(&start));
    // Of several in one function the first in the text has the longest body.
    let innermost = around.clone().map(|(_, body)| body.end).min()?;
    let in_it = around.filter(|(_, body)| body.end == innermost);
    in_it.min_by_key(|(_, body)| body.start).map(|(number, _)| *number)
}

/// The mutant that takes out the next arm.
fn arm_behind(span: &Value, changed: &BTreeMap<String, Changed>) -> Option<usize> {
    let file = file_of(span, changed)?;
    let start = usize::try_from(span["byte_start"].as_u64()?).ok()?;
    let is_arm = |text: &str| text.starts_with(" if !") || text.starts_with("(!");
    let mut behind = file.places.iter().filter(|(_, place)| place.start >= start);
    behind.find(|(_, place)| is_arm(&file.text[place.clone()])).map(|(number, _)| *number)
}

/// Marks the mutants in code that these features disable: there a call of a function that
/// does not exist is not an error.
fn left_out(
    job: &Job,
    changed: &BTreeMap<String, Changed>,
    mutants: &mut [Mutant],
) -> Result<(), String> {
    let (real, wrong) = ("crate::switch::on(", "crate::switch::no(");
    let write = |from: &str, to: &str| {
        for (file, text) in changed {
            std::fs::write(job.sources.join(file), text.text.replace(from, to))
                .map_err(|error| format!("{file} cannot be written ({error})."))?;
        }
        Ok::<_, String>(())
    };
    write(real, wrong)?;
    let compiled = check(job, changed)?;
    write(wrong, real)?;
    let mut count = 0;
    for (index, mutant) in mutants.iter_mut().enumerate().filter(|(_, mutant)| !mutant.unviable) {
        if !compiled.contains(&(index + 1)) {
            println!("left out: {}", mutant.name);
            mutant.unviable = true;
            count += 1;
        }
    }
    println!("{count} are in code that is left out");
    Ok(())
}

/// Tests of constant evaluation, fastest builds first.
pub(crate) const OF_CONSTANTS: [&[&str]; 2] = [
    &["-p=dlpack-traits", "--lib", FEATURES],
    &[
        "-p=dlpack-tests",
        "--test=abi",
        "--test=allocations",
        "--test=derive",
        "--test=exchange",
        "--test=import",
        "--test=export",
        "--test=shapes",
    ],
];

/// Builds tests with one mistake switched on where the compiler computes. Nothing,
/// if they do not compile.
pub(crate) fn constant(
    job: &Job,
    number: usize,
    tests: &[&str],
) -> Result<Option<Vec<Binary>>, String> {
    let mut command = cargo(job, &["test", "--quiet", "--no-run", "--message-format=json"]);
    command.args(tests).env("DLPACK_CONSTANT", number.to_string());
    // They are built again and again, and run once.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
    command.stderr(Stdio::null());
    let (fine, messages) = messages(command)?;
    Ok(fine.then(|| messages.iter().filter_map(binary).collect()))
}

/// The program in one of cargo's messages.
fn binary(message: &Value) -> Option<Binary> {
    let program = message["executable"].as_str()?.into();
    let name = message["target"]["name"].as_str()?.to_owned();
    let folder = PathBuf::from(message["manifest_path"].as_str()?).with_file_name("");
    Some(Binary { program, folder, name })
}

/// The test program that reads sources, which have additional code here.
const NOT_THESE: &str = "sources";

fn build(job: &Job) -> Result<Vec<Binary>, String> {
    let mut binaries = Vec::new();
    let sets: [&[&str]; 2] =
        [&["-p=dlpack-tests", "--tests"], &["-p=dlpack-traits", "--lib", FEATURES]];
    for set in sets {
        let mut command = cargo(job, &["test", "--quiet", "--no-run", "--message-format=json"]);
        command.args(set);
        let (fine, messages) = messages(command)?;
        if !fine {
            let errors =
                messages.iter().filter_map(|message| message["message"]["rendered"].as_str());
            return Err(format!("the tests do not compile:\n{}", errors.collect::<String>()));
        }
        let built = messages.iter().filter_map(binary);
        binaries.extend(built.filter(|binary| binary.name != NOT_THESE));
    }
    println!("{} programs of tests", binaries.len());
    Ok(binaries)
}
