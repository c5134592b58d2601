"""What builds cost: `cargo xtask bench size` and `bench compile`.

    builds.py size|compile FOLDER

Writes `FOLDER/size.json` or `FOLDER/compile.json`, for the page.

`size` builds libraries with 1 and with 101 exported types, and divides the difference of their code
sections by 100. No two types are alike: identical code would be merged. `compile` checks crates of 200
structs with the same fields and different derives in turn, round after round, so that whatever else
the machine does falls on all of them.
"""

import json
import os
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRAITS = json.dumps(str(ROOT / "dlpack-traits"))
FURTHER, STRUCTS, ROUNDS = 100, 200, 9
ELEMENTS = ["f32", "u8", "i16", "f64", "i64"]


def cargo(folder, *arguments, target):
    env = {**os.environ, "CARGO_TARGET_DIR": str(target), "CARGO_INCREMENTAL": "0"}
    env |= {"PYO3_PYTHON": sys.executable, "PYO3_BUILD_EXTENSION_MODULE": "1"}
    subprocess.run(["cargo", *arguments, "--quiet"], cwd=folder, env=env, check=True)


def write_crate(folder, manifest, source):
    """A crate in a workspace of its own, with the versions that everything else is built with."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    head = f'[package]\nname = "{folder.name}"\nversion = "0.0.0"\nedition = "2024"\n'
    (folder / "Cargo.toml").write_text(head + manifest + "[workspace]\n")
    (folder / "Cargo.lock").write_text((ROOT / "Cargo.lock").read_text())
    (folder / "src" / "lib.rs").write_text(source)


def fields(number, owner):
    """Fields that no other number has, in type, rank and size."""
    element = ELEMENTS[number % 5]
    data = f"std::sync::Arc<[{element}]>" if owner == "Arc" else f"Vec<{element}>"
    return (
        f"pub data: {data}, pub shape: [usize; {number // 5 % 4 + 1}], "
        "#[allow(dead_code)] pub name: String, "
        f"#[allow(dead_code)] #[dlpack(skip)] pub id: [u8; {number + 1}]"
    )


def exported(method, owner, argument):
    def source(number):
        return (
            "#[derive(dlpack_traits::DLPackExport)]\n"
            f"pub struct T{number} {{ {fields(number, owner)} }}\n"
            f"#[unsafe(no_mangle)] pub fn export_{number}(value: {argument}T{number}) -> *mut Managed {{\n"
            f"    value.{method}().map_or(core::ptr::null_mut(), |tensor| tensor.into_raw())\n}}\n"
        )

    return source


def added(derive, add):
    def source(number):
        text = fields(number, "Arc")
        if not derive:
            text = text.replace("#[dlpack(skip)] ", "")
        return (
            f"#[pyclass(frozen)]\n{derive}pub struct T{number} {{ {text} }}\n"
            f"pub fn add_{number}(m: &Bound<'_, PyModule>) -> PyResult<()> {{\n    {add}<T{number}>(m)\n}}\n"
        )

    return source


EXPORT = "#[derive(dlpack_traits::DLPackExport)]\n"
# A row, its bar in bytes for each type, whether it is a module for Python, and its types.
SIZES = [
    ("into_dlpack", 1024, False, exported("into_dlpack", "Vec", "")),
    ("to_dlpack", 1024, False, exported("to_dlpack", "Arc", "&")),
    ("a Python class of its own", None, True, added("", "PyModuleMethods::add_class::")),
    ("a Python class of tensors", 4096, True, added(EXPORT, "dlpack_traits::python::add_class::")),
]


def text_section(image):
    """Bytes of the section `.text` of a 64-bit ELF file."""
    if not image.startswith(b"\x7fELF\x02\x01"):
        sys.exit("code is measured in ELF files, which this system does not make.")
    table = struct.unpack_from("<Q", image, 0x28)[0]
    size, count, names = struct.unpack_from("<3H", image, 0x3A)
    names = struct.unpack_from("<Q", image, table + names * size + 0x18)[0]
    for section in range(table, table + count * size, size):
        name = names + struct.unpack_from("<I", image, section)[0]
        if image[name : name + 6] == b".text\0":
            return struct.unpack_from("<Q", image, section + 0x20)[0]
    raise ValueError("the library has no code")


def library_bytes(place, row, is_python, source, types):
    features, pyo3 = ('"derive", "pyo3"', 'pyo3 = ">=0.27, <0.31"\n') if is_python else ('"derive"', "")
    manifest = (
        f'[lib]\ncrate-type = ["cdylib"]\n[dependencies]\n'
        f"dlpack-traits = {{ path = {TRAITS}, features = [{features}] }}\n{pyo3}"
        "[profile.release]\ncodegen-units = 1\n"
    )
    lines = (
        "use pyo3::prelude::*;\n"
        if is_python
        else "use dlpack_traits::{DLPackExport, ffi::DLManagedTensorVersioned as Managed};\n"
    )
    lines += "".join(map(source, range(types)))
    if is_python:
        calls = "".join(f"    add_{number}(m)?;\n" for number in range(types))
        lines += f"#[pymodule]\nfn size_bench(m: &Bound<'_, PyModule>) -> PyResult<()> {{\n{calls}    Ok(())\n}}\n"
    # A name of its own: cargo would take one library for the other.
    folder = place / f"{row.replace(' ', '-').replace('_', '-').lower()}-{types}"
    write_crate(folder, manifest, lines)
    cargo(folder, "build", "--release", target=place / "target")
    library = place / "target" / "release" / f"lib{folder.name.replace('-', '_')}.so"
    return text_section(library.read_bytes())


def sizes(place):
    rows = []
    print(f"\n{'per further type':<28} {'bytes':>8} {'at most':>8}")
    for row, bar, is_python, source in SIZES:
        one, many = (library_bytes(place, row, is_python, source, n) for n in (1, FURTHER + 1))
        ours = max(many - one, 0) // FURTHER
        print(f"{row:<28} {ours:>8} {bar or '':>8}", flush=True)
        rows.append({"group": "size", "row": row, "unit": "bytes", "ours": ours, "bar": bar})
        rows[-1] |= {"floor": None, "ratio": None, "peers": {}}
    return {"rows": rows}


OURS = f'dlpack-traits = {{ path = {TRAITS}, features = ["derive"] }}\n'
SERDE = 'serde = { version = "1", features = ["derive"] }\n'
# A name, what the crate depends on, its derive, and the type of its data.
VARIANTS = [
    ("no derive", "", "", "Vec<f32>"),
    ("serde::Serialize", SERDE, "#[derive(serde::Serialize)]\n", "Vec<f32>"),
    ("serde::Deserialize", SERDE, "#[derive(serde::Deserialize)]\n", "Vec<f32>"),
    ("DLPackExport", OURS, EXPORT, "Vec<f32>"),
    (
        "DLPackImport",
        OURS,
        "#[derive(dlpack_traits::DLPackImport)]\n",
        "dlpack_traits::ImportedStorage<f32>",
    ),
]


def compile_times(place):
    folders = []
    for name, dependency, derive, data in VARIANTS:
        structs = "".join(
            f"{derive}pub struct S{number} {{\n    pub data: {data},\n"
            "    pub shape: [usize; 3],\n    pub strides: [isize; 3],\n}\n"
            for number in range(STRUCTS)
        )
        folder = place / name.replace(" ", "-").replace("::", "-").lower()
        write_crate(folder, f"[dependencies]\n{dependency}", structs)
        folders.append(folder)
    seconds = [[] for _ in folders]
    # The first round builds the dependencies, and does not count.
    for round in range(ROUNDS + 1):
        for times, folder in zip(seconds, folders):
            (folder / "src" / "lib.rs").touch()
            started = time.perf_counter()
            cargo(folder, "check", target=folder / "target")
            if round:
                times.append(time.perf_counter() - started)
    medians = [statistics.median(times) for times in seconds]
    rows = []
    print(f"\n{'200 structs with':<20} {'check, s':>10} {'of Serialize':>14}")
    for (name, *_), median in zip(VARIANTS, medians):
        of_serialize = median / medians[1]
        print(f"{name:<20} {median:>10.3f} {of_serialize:>14.2f}")
        rows.append({"variant": name, "median_seconds": median, "of_serialize": of_serialize})
    return {"rows": rows}


def main(what, folder):
    measure = {"size": sizes, "compile": compile_times}[what]
    place = Path(folder) / what
    Path(folder, f"{what}.json").write_text(json.dumps(measure(place), indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
