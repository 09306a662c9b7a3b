#!/usr/bin/env bash
# usage: in_clean_root.sh demo|check|install <source> <work>
#
# Runs what the README tells a newcomer to run, in a fresh Debian 12 that holds nothing but
# `debootstrap --variant=minbase`:
#
#   demo      ./demo, all of it
#   check     ./check: install, configure and build, all of it; of the tests those that need tools
#             and packages of the machine (tools, package, example, must_not_compile)
#   install   the commands of README.md below "Using it", then a program of a user that finds what
#             they installed
#
# Packages come from where this machine gets its own. The compiler cache of this machine serves the
# new root too: what differs (another compiler, other headers) misses.
#
# Exit status 77, "skipped": this machine cannot make such a root, or no file that decides what is
# installed and configured has changed since the last run that passed. The reason is printed.
set -euo pipefail

what=$1
source=$(readlink -f "$2")
mkdir -p "$3"
work=$(readlink -f "$3")
root=$work/$what.root

skip() {
    echo "skipped: $1"
    exit 77
}

[[ $what =~ ^(demo|check|install)$ ]] || { echo "unknown argument '$what'" >&2; exit 2; }
((EUID == 0)) || skip "only root can make a root directory for others"
grep -qs '^VERSION_CODENAME=bookworm$' /etc/os-release || skip "this machine is no Debian 12"
command -v debootstrap >/dev/null || skip "there is no debootstrap"
unshare --mount true 2>/dev/null || skip "no mount namespace of our own (in a container?)"

# What decides which packages are needed. The sources do not.
cd "$source"
deciding=$(find . -path ./build -prune -o \( -name CMakeLists.txt -o -name '*.cmake' \
    -o -name '*.cmake.in' -o -name CMakePresets.json -o -path ./demo -o -path ./check \
    -o -path ./README.md -o -path ./tools/build_env.sh -o -path './tests/clean_root/*' \
    -o -path ./tools/kill_order_saga.sh -o -path ./tools/kill_and_run_again.sh \) -type f -print | LC_ALL=C sort)
passed=$work/$what.passed
hash=$(xargs sha256sum <<<"$deciding" | sha256sum)
if [[ -f $passed && $(<"$passed") == "$hash" ]]; then
    skip "no list of packages and no CMake file has changed since it passed"
fi

# One fresh system for all runs.
if [[ ! -f $work/minbase.tar ]]; then
    mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
        awk '$1 == "bookworm" { print $2; exit }')
    [[ $mirror ]] || skip "no source of packages for Debian 12"
    proxy=
    eval "$(apt-config shell proxy Acquire::http::Proxy)"
    rm -rf "$work/minbase"
    http_proxy=${http_proxy:-$proxy} debootstrap --variant=minbase bookworm "$work/minbase" \
        "$mirror" >"$work/debootstrap.log" || { tail "$work/debootstrap.log"; exit 1; }
    tar -C "$work/minbase" --one-file-system -cf "$work/minbase.tar.new" .
    mv "$work/minbase.tar.new" "$work/minbase.tar"
    rm -rf "$work/minbase"
fi

rm -rf "$root"
mkdir -p "$root"
trap 'rm -rf "$root"' EXIT
tar -C "$root" -xf "$work/minbase.tar"

# The network and the sources of packages as this machine has them.
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d" "$root/etc/apt/apt.conf.d"
for part in sources.list sources.list.d apt.conf apt.conf.d auth.conf.d keyrings trusted.gpg \
    trusted.gpg.d; do
    [[ ! -e /etc/apt/$part ]] || cp -RL "/etc/apt/$part" "$root/etc/apt/"
done
cp -RL /usr/share/keyrings "$root/usr/share/"
mkdir -p "$root/etc/apt/apt.conf.d"
# A newcomer answers yes. What a package merely recommends must not be what makes it work.
cat >"$root/etc/apt/apt.conf.d/zz-newcomer" <<'TEXT'
APT::Get::Assume-Yes "true";
APT::Install-Recommends "false";
TEXT

# The sources: what git would give a clone, together with what is new.
mkdir "$root/libdurable"
if [[ -e .git ]] && command -v git >/dev/null; then
    git ls-files -z --cached --others --exclude-standard
else
    find . -path ./build -prune -o -type f -print0
fi | { while IFS= read -r -d '' file; do [[ ! -f $file ]] || printf '%s\0' "$file"; done; } |
    tar --null -T - -c | tar -C "$root/libdurable" -x

# The block of commands below "## Using it" that begins with apt-get, as the README prints it.
install_commands() {
    awk '/^## Using it/ { here = 1 } here && /^```sh/ { block = 1; next }
         block && /^```/ { exit } block' README.md
}

case $what in
    demo) commands="./demo" ;;
    check) commands="./check -- -R '^(tools|package|example|must_not_compile)\.'" ;;
    install)
        commands=$(install_commands)
        [[ $commands == apt-get\ install\ * ]] || { echo "README.md has no such block"; exit 1; }
        commands="apt-get -q update && $commands
cmake -S tests/package/find_package -B consumer -G Ninja \
    -DEXAMPLE=/libdurable/examples/hello_world.cpp
cmake --build consumer && consumer/consumer && durable validate memory: | tail -n 1"
        ;;
esac

cache=$(ccache --get-config cache_dir 2>/dev/null || true)
mkdir -p "$root/ccache"
export ROOT=$root CACHE=$cache
# The mounts live and die with this command.
unshare --mount --fork --kill-child -- bash -euc '
    mount --make-rprivate /
    mount -t proc proc "$ROOT/proc"
    mount --rbind /dev "$ROOT/dev"
    [[ ! -d $CACHE ]] || mount --bind "$CACHE" "$ROOT/ccache"
    exec chroot "$ROOT" /usr/bin/env -i HOME=/root PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
        CCACHE_DIR=/ccache ${http_proxy:+http_proxy="$http_proxy"} \
        bash -euc "cd /libdurable; $1"' - "$commands"

# Neither needs what only the tests need.
if [[ $what != check ]]; then
    for package in python3 libgtest-dev libbenchmark-dev; do
        if [[ -d $root/usr/share/doc/$package ]]; then
            echo "$what has installed $package, which only the tests need"
            exit 1
        fi
    done
fi
echo "$hash" >"$passed"
