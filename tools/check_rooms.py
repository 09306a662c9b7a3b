#!/usr/bin/env python3
"""The READMEs of src/ and tests/ know every directory, and name only what exists.

    **fs/journal/**                                     a directory, below the README's own
    `Journal::append` (`fs/journal/journal.cpp`)        a name in a file

A file is looked for beside the README, in src/, in include/durable and in the repository.
"""
import pathlib
import re
import sys

import sources

GUIDED = ("src", "tests")
FILE = r"[\w./-]+\.(?:cpp|hpp|py|sh|md|csv|txt)"
NAMED_FILE = re.compile(r"`(%s)`" % FILE)
# One name or several, then their file: `a`, `b` and `c` (`file.cpp`).
NAMED_CODE = re.compile(r"((?:`[\w:~]+`(?:,| and)?\s+)+)\(`(%s)`[),]" % FILE)


def directories(names, top):
    """Those below `top` that hold files, relative to it; of src/ those that hold sources."""
    found = set()
    for name in names:
        path = pathlib.PurePosixPath(name)
        if path.parts[0] == top and (top != "src" or name.endswith(sources.CPP)):
            found.add(path.parent.relative_to(top).as_posix())
    return sorted(found - {"."})


def line_of(text, match):
    return text.count("\n", 0, match.start()) + 1


def unnamed(readme, text, wanted):
    for directory in wanted:
        if f"**{directory}/**" not in text and f"`{directory}/`" not in text:
            yield f"{readme}: error: {directory}/ is not described"


def candidates(readme, target):
    home = pathlib.PurePosixPath(readme).parent
    return [(place / target).as_posix() for place in
            (home, *map(pathlib.PurePosixPath, ("src", "include/durable", ".")))]


def missing(root, names, readme, text):
    def find(target):
        return next((path for path in candidates(readme, target) if path in names), None)

    for match in NAMED_FILE.finditer(text):
        if find(match.group(1)) is None:
            yield f"{readme}:{line_of(text, match)}: error: {match.group(1)} does not exist"
    for match in NAMED_CODE.finditer(text):
        path = find(match.group(2))
        if path is None:
            continue
        code = sources.read(root, path)
        for word in re.findall(r"\w+", match.group(1).replace(" and", "")):
            if not re.search(rf"\b{re.escape(word)}\b", code):
                yield f"{readme}:{line_of(text, match)}: error: {word} is not in {path}"


def problems(root):
    names = set(sources.all_files(root))
    found = []
    for top in GUIDED:
        readme = f"{top}/README.md"
        if readme not in names:
            found.append(f"{readme}: error: it is missing")
            continue
        found += unnamed(readme, sources.read(root, readme), directories(names, top))
    for readme in sorted(n for n in names if n.startswith(GUIDED) and n.endswith("/README.md")):
        text = sources.read(root, readme)
        found += missing(root, names, readme, text)
        # The README of a room names the directories inside it, too.
        if readme.startswith("src/") and readme != "src/README.md":
            home = pathlib.PurePosixPath(readme).parent.relative_to("src").as_posix()
            inside = {d.removeprefix(home + "/").split("/")[0] for d in directories(names, "src")
                      if d.startswith(home + "/")}
            found += unnamed(readme, text, sorted(inside))
    return found


if __name__ == "__main__":
    sys.exit(sources.report(problems(sys.argv[1])))
