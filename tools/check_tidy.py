#!/usr/bin/env python3
"""clang-tidy-19 over the sources of a build directory, remembering what it found clean.

    check_tidy.py --build build/tidy --all        every source file (./check --tidy)
    check_tidy.py --build build/tidy --changed    what differs from where the branch left main, or
                                                  from the commit before, at most --limit files

A whole run takes longer than all the tests together. A file is looked at again when it, a header
of ours that it includes, its compile command or a .clang-tidy changed. Needs a finished build: its
dependencies are reused.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import sources

TIDY = "clang-tidy-19"
ROOMS = ("src/", "tests/", "benchmarks/", "examples/")
NOT_OURS = ("tests/must_not_compile/", "tests/package/")


def without_precompiled_header(arguments):
    """Tidy must see the file's own includes, not those of the precompiled header."""
    kept, rest = [], iter(arguments)
    for argument in rest:
        if argument == "-Xclang":
            value = next(rest)
            if value in ("-include-pch", "-include"):
                next(rest), next(rest)  # -Xclang <path>
            elif value != "-fno-pch-timestamp":
                kept += [argument, value]
        elif argument != "-Winvalid-pch":
            kept.append(argument)
    return kept


class Unit:
    """One source file as it is compiled."""

    def __init__(self, root, entry):
        self.path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        self.name = os.path.relpath(self.path, root)
        arguments = shlex.split(entry["command"])
        self.object = arguments[arguments.index("-o") + 1]
        self.arguments = without_precompiled_header(arguments)
        self.directory = entry["directory"]
        self.headers = None  # ours; None: not known

    def key(self, root, salt):
        """Changes whenever the verdict could; None when the dependencies are not known."""
        if self.headers is None:
            return None
        digest = hashlib.sha256(salt + "\0".join(self.arguments).encode())
        for name in sorted({self.name, *self.headers}):
            digest.update(name.encode() + b"\0" + pathlib.Path(root, name).read_bytes())
        return digest.hexdigest()


def units(root, build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        found = [Unit(root, entry) for entry in json.load(file)]
    found = [u for u in found if u.name.startswith(ROOMS) and not u.name.startswith(NOT_OURS)]
    headers = dependencies(root, build)
    for unit in found:
        unit.headers = headers.get(unit.object)
    return list({unit.name: unit for unit in found}.values())


def dependencies(root, build):
    """Object file -> our own files that it was made from."""
    listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True,
                             check=False).stdout
    found, current = collections.defaultdict(set), None
    for line in listing.splitlines():
        if line.startswith("    "):
            path = os.path.relpath(os.path.join(build, line.strip()), root)
            if path.startswith((*ROOMS, "include/")):
                found[current].add(path)
        elif ": #deps" in line:
            current = line.split(": #deps")[0]
            found[current] = set()
    return found


def changed_files(root):
    """None without git."""
    head = sources.git(root, "rev-parse", "HEAD")
    if head is None:
        return None
    bases = [sources.git(root, "merge-base", "HEAD", main) for main in ("origin/main", "main")]
    base = next((b for b in bases if b and b != head), None) \
        or sources.git(root, "rev-parse", "HEAD~1") or head
    names = (sources.git(root, "diff", "--name-only", base) or "").split("\n")
    names += (sources.git(root, "ls-files", "--others", "--exclude-standard") or "").split("\n")
    return {name for name in names if name}


def units_of(everything, changed):
    """The changed sources, and for each changed header the source that shows it best."""
    chosen = {unit.name: unit for unit in everything if unit.name in changed}
    for header in sorted(name for name in changed if name.endswith(".hpp")):
        users = [u for u in everything if u.headers and header in u.headers]
        if users and not any(u.name in chosen for u in users):
            stem = pathlib.PurePosixPath(header).stem
            best = min(users, key=lambda u: (pathlib.PurePosixPath(u.name).stem != stem, u.name))
            chosen[best.name] = best
    return sorted(chosen.values(), key=lambda u: u.name)  # benchmarks, examples, src, tests


def tidy(build, database, unit):
    done = subprocess.run([TIDY, "--quiet", "-p", database, unit.path], cwd=build,
                          capture_output=True, text=True, check=False)
    noise = re.compile(r"\d+ warnings? (generated|treated as)|^Suppressed |^Use -header-filter")
    lines = (done.stdout + (done.stderr if done.returncode else "")).splitlines()
    return done.returncode, "\n".join(line for line in lines if not noise.search(line))


def salt_of(root):
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=False).stdout
    configurations = sorted(pathlib.Path(root).glob(".clang-tidy")) + sorted(
        p for room in ROOMS for p in pathlib.Path(root, room).rglob(".clang-tidy"))
    return version + b"\0".join(p.read_bytes() for p in configurations)


def run(root, build, chosen):
    store = pathlib.Path(build, "tidy")
    store.mkdir(exist_ok=True)
    database = [{"directory": u.directory, "file": u.path, "arguments": u.arguments}
                for u in chosen]
    (store / "compile_commands.json").write_text(json.dumps(database), encoding="utf-8")
    salt = salt_of(root)
    keys = {unit.name: unit.key(root, salt) for unit in chosen}
    left = [u for u in chosen if not (keys[u.name] and (store / keys[u.name]).exists())]
    print(f"{len(chosen)} files, {len(chosen) - len(left)} known to be clean", flush=True)

    def look_at(unit):
        status, text = tidy(build, str(store), unit)
        if status == 0 and keys[unit.name]:
            (store / keys[unit.name]).touch()
        print(f"{'FAILED' if status else 'clean'} {unit.name}" + ("\n" + text if status else ""),
              flush=True)
        return status

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = sum(1 for status in pool.map(look_at, left) if status)
    print(f"{bad} files with findings")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--limit", type=int, default=12)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--all", action="store_true")
    what.add_argument("--changed", action="store_true")
    options = parser.parse_args()

    root = str(pathlib.Path(__file__).resolve().parent.parent)
    build = os.path.abspath(options.build)
    chosen = units(root, build)
    if options.changed:
        changed = changed_files(root)
        if changed is None:
            print("no git history: ./check --tidy looks at everything")
            return 0
        chosen = units_of(chosen, changed)
        if len(chosen) > options.limit:
            print(f"{len(chosen)} files changed, looking at {options.limit} of them: "
                  "./check --tidy looks at all")
            chosen = chosen[:options.limit]
    return run(root, build, chosen)


if __name__ == "__main__":
    sys.exit(main())
