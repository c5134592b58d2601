#!/usr/bin/env bash
# Builds a CPython without a GIL from Debian's sources, once for each machine, and installs packages
# beside it. `cargo xtask free-threaded` runs this:
#
#     free-threaded.sh VERSION HOME PYTHON SANITIZED PACKAGE...
#
# PYTHON has the pip that fetches the packages. SANITIZED is `yes` for ThreadSanitizer, or `no`. The
# last line that is printed says what is missing.
set -euo pipefail
version=$1 home=$2 python=$3 sanitized=$4
shift 4

# The releases of Debian whose package lists name the sources, in the order in which they are tried;
# apt checks who signed them. Then a version whose file the archive has, and its SHA-256, for the time
# in which no package list names a file that it has. No signature covers that file: the checksum is
# of the first download, so it shows only that the file has not changed since.
case $version in
3.13) suites=trixie unlisted= checksum= ;;
3.14) suites='forky sid' unlisted=3.14.7
      checksum=3b48dac8fb59f62eaa67ac83c1eb12bda1b7a08406dd286e252c11a66be27f81 ;;
3.15) suites='forky sid' unlisted='3.15.0~rc2'
      checksum=8d93af5eaaaea5adfd41bd786a7ba3f03f2ad1ab57c6a65e0b963deab91d5ad7 ;;
*) echo "there is no recipe for CPython $version" && exit 1 ;;
esac
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
sources=$home/sources

# Installs Debian packages where the system lets us.
install() {
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@" ||
        { echo "these packages are missing: apt-get install $*"; exit 1; }
}

# Fetches the source package, by package lists of its own: those of the machine stay unchanged.
fetch() {
    local archive suite
    archive=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' |
        grep '^Debian ' | grep -v security | cut -d' ' -f2 | sort -u | tail -1) || return 1
    local apt=(apt-get "-oDir::Etc::sourcelist=$sources/only.sources" "-oDir::State::lists=$sources/lists"
        -oDir::Etc::sourceparts=- -oDir::Cache::pkgcache= -oDir::Cache::srcpkgcache=)
    for suite in $suites; do
        printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
            "$archive" "$suite" "$keyring" >only.sources
        "${apt[@]}" update && "${apt[@]}" source --download-only "python$version" && return
    done
    local file=python${version}_$unlisted.orig.tar.xz
    [ -n "$unlisted" ] && /usr/lib/apt/apt-helper download-file \
        "${archive%/}/pool/main/p/python$version/$file" "$file" "SHA256:$checksum"
}

if ! command -v apt-get >/dev/null || [ ! -e $keyring ]; then
    echo "the sources of Python come from Debian's archive, by apt-get" && exit 1
fi
mkdir -p "$sources/lists/partial" && cd "$sources"
if [ ! -e /usr/include/x86_64-linux-gnu/ffi.h ] || ! command -v cc >/dev/null; then
    install build-essential libffi-dev
fi
options=()
if [ "$sanitized" = yes ]; then
    # LLVM's ThreadSanitizer is the one of rustc too.
    if ! command -v clang-19 >/dev/null || [ ! -e /usr/bin/llvm-symbolizer-19 ]; then
        install clang-19 llvm-19 libclang-rt-19-dev
    fi
    options=(CC=clang-19 --with-thread-sanitizer)
fi
if [ ! -e python ]; then
    fetch || { echo "apt-get does not fetch the sources of python$version of Debian $suites"; exit 1; }
    "$python" -c "import glob, os, tarfile; [name] = glob.glob('*.orig.tar.xz')
tarfile.open(name).extractall('.', filter='tar'); [folder] = glob.glob('Python-*'); os.rename(folder, 'python')"
fi
cd python
./configure --quiet --disable-gil --without-ensurepip --disable-test-modules --prefix="$home" "${options[@]}"
make --quiet --jobs="$(nproc)"
make --quiet altinstall
if [ "$sanitized" = yes ]; then
    # Races of CPython that its developers know, and one that is not in their file: a thread may call
    # the function while Python ends, and CPython 3.14 reads a plain `int` in it.
    cp Tools/tsan/suppressions_free_threading.txt "$home/suppressions.txt"
    echo race_top:Py_IsInitialized >>"$home/suppressions.txt"
fi
# pip compares with its own version of Python otherwise.
"$python" -m pip install --no-input --progress-bar off --disable-pip-version-check --only-binary=:all: \
    --python-version="$version" --abi="cp${version/./}t" --ignore-requires-python --implementation=cp \
    --target "$home/packages" "$@"
# The sources and the files of the build are not needed any more.
rm -rf "$sources"
echo "$version" >"$home/finished"
