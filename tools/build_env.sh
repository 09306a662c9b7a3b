# Sourced by ./check and ./demo: what a Debian 12 machine needs, and how one preset is built.
# shellcheck shell=bash

# Enough for the preset demo: the libraries, the program and the examples. tests/clean_root proves
# that nothing is missing here.
demo_packages=(
    clang-19 lld-19 cmake ninja-build ccache
    nlohmann-json3-dev libsqlite3-dev libcli11-dev
)
# What the other presets need on top: libraries of the tests and benchmarks, g++ and the run time of
# the sanitizers for the matrix, tools, Python.
check_packages=(
    "${demo_packages[@]}"
    libgtest-dev libbenchmark-dev
    g++ libclang-rt-19-dev clang-tidy-19 clang-format-19 python3
)
# For the long tests: a fresh Debian in a directory.
slow_packages=("${check_packages[@]}" debootstrap)

# The cache survives a change of directory and works together with precompiled headers.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}"
export CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros

die() {
    echo "$(basename "$0"): $1" >&2
    exit "${2:-1}"
}

# Installs those of the given packages that are missing. Touches neither network nor privileges
# when nothing is. Without dpkg (not Debian) CMake will say what it cannot find.
install_missing() {
    command -v dpkg-query >/dev/null || return 0
    local missing=() package
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            missing+=("$package")
    done
    ((${#missing[@]})) || return 0

    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null ||
            die "missing packages; as root, run: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    echo "installing: ${missing[*]}"
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3
        -o Dpkg::Use-Pty=0)
    "${apt[@]}" update >/dev/null || die "apt-get update failed; is there a network?"
    "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null ||
        die "could not install: ${missing[*]}"
}

# configure <preset>
configure() {
    cmake --preset "$1" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
}

# build <preset> [target...]
build() {
    cmake --build --preset "$1" ${2:+--target "${@:2}"}
}
