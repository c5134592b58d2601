"""Compiles `array_functions.cpp`: `python build.py FOLDER`."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

NAME = "array_functions_nanobind"


def build(folder):
    """Writes the extension module into a folder. ImportError says what is missing."""
    import nanobind

    compiler = shutil.which("c++")
    if compiler is None:
        raise ImportError("there is no C++ compiler to build the nanobind module")
    includes = Path(nanobind.include_dir())
    command = [
        compiler,
        *("-shared", "-fPIC", "-std=c++17", "-O3", "-fvisibility=hidden"),
        *("-fno-strict-aliasing", "-DNDEBUG"),
        f"-I{sysconfig.get_path('include')}",
        f"-I{includes}",
        f"-I{includes.parent / 'ext' / 'robin_map' / 'include'}",
        *(["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []),
        str(includes.parent / "src" / "nb_combined.cpp"),
        str(Path(__file__).with_name("array_functions.cpp")),
    ]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    module = folder / (NAME + sysconfig.get_config_var("EXT_SUFFIX"))
    subprocess.run([*command, "-o", str(module)], check=True)


if __name__ == "__main__":
    build(sys.argv[1])
