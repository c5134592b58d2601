"""Compiles the extension module of `nanobind_peer.cpp`, once for each Python."""

import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

NAME = "dlpack_nanobind_peer"
SOURCE = Path(__file__).with_suffix(".cpp")
FOLDER = SOURCE.parents[3] / "target" / "nanobind"


@functools.cache
def load(optimize="-O1"):
    """The module. ImportError says what is missing.

    Cached, so that the module stays alive: with its last module nanobind deletes the type of
    its arrays, also of those that exist.
    """
    import nanobind

    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        raise ImportError("there is no C++ compiler to build the nanobind module")
    includes = Path(nanobind.include_dir())
    command = [
        compiler,
        *("-shared", "-fPIC", "-std=c++17", optimize, "-fvisibility=hidden"),
        *("-fno-strict-aliasing", "-DNDEBUG"),
        f"-I{sysconfig.get_path('include')}",
        f"-I{includes}",
        f"-I{includes.parent / 'ext' / 'robin_map' / 'include'}",
        *(["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []),
        str(includes.parent / "src" / "nb_combined.cpp"),
        str(SOURCE),
    ]
    seed = "\0".join([*command, nanobind.__version__, SOURCE.read_text()])
    key = hashlib.sha256(seed.encode()).hexdigest()[:16]
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    built = FOLDER / key / (NAME + suffix)
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        fresh = built.with_suffix(f".{os.getpid()}")
        subprocess.run([*command, "-o", str(fresh)], check=True)
        fresh.replace(built)
    spec = importlib.util.spec_from_file_location(NAME, built)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    load()
