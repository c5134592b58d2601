#!/usr/bin/env bash
# Unpacks a Rust compiler of Debian's packages in a folder: it cannot be installed beside another
# version. `cargo xtask test --full --step "oldest rust"` runs this where rustup has none:
#
#     oldest-rust.sh VERSION FOLDER
#
# The last line that is printed says what is missing.
set -euo pipefail
version=$1 folder=$2
unfinished=$folder.unfinished
rm -rf "$unfinished" && mkdir -p "$unfinished/root" && cd "$unfinished"

# Downloads the packages of the first compiler that a list names: a release may have several, such as
# `rustc` and `rustc-web`.
download() {
    local package found kind runtime llvm
    read -r package found < <(apt-cache madison rustc rustc-web | tr -d ' ' |
        awk -F'|' -v start="$version." 'index($2, start) == 1 { print $1, $2; exit }') || return 1
    kind=${package#rustc} runtime=libstd-rust${package#rustc}-$version=$found
    llvm=$(apt-cache depends "$runtime" | sed -n 's/^ *Depends: \(libllvm.*\)/\1/p' | head -1)
    apt-get download --quiet "$package=$found" "libstd-rust$kind-dev=$found" "$runtime" "$llvm"
}

# A new machine has no list of packages, and that of an old one may name packages that newer ones
# have replaced.
download || { apt-get update --quiet --option APT::Update::Error-Mode=any && download; } ||
    { echo "no list of packages has Rust $version" && exit 1; }
for package in *.deb; do
    dpkg-deb --extract "$package" root
done
mv root "$folder" && rm -rf "$unfinished"
