#!/usr/bin/env python3
"""Includes follow the arrows of docs/architecture.md, never back.

The two tables below are the architecture: a new public header or a new room is entered here, or the
check fails. Libraries of other people stay behind the doors named in FOREIGN.
"""
import pathlib
import re
import sys

import sources

# Public headers in groups. A group may include itself and the groups after the arrow.
GROUPS = {
    "vocabulary": ({"codec", "error_details", "history_event", "limits", "log", "metrics", "result",
                    "store_access", "time", "time_text", "trace", "version", "work_item"}, ()),
    "storage": ({"instrumented", "provider", "provider_admin"}, ("vocabulary",)),
    "orchestration": ({"activity_context", "combine", "context", "contract", "group", "handler",
                       "kv", "members", "operation", "option_text", "options", "owning", "payload",
                       "registry", "standard_payloads", "step", "struct_payload", "task", "undo"},
                      ("vocabulary",)),
    "engine": ({"client", "management", "orchestration_status", "runtime", "runtime_options"},
               ("vocabulary", "storage", "orchestration")),
    "stores": ({"fs", "memory", "postgres", "sqlite"}, ("vocabulary", "storage")),
    "testing": ({"history_testing", "test_runtime", "testing"},
                ("vocabulary", "storage", "orchestration", "engine")),
    "validation": ({"model_check", "validation", "validation_gtest"},
                   ("vocabulary", "storage", "testing")),
    "umbrella": ({"durable"}, ("vocabulary", "storage", "orchestration", "engine", "stores")),
}

# Rooms of src/. A room may include itself, the rooms and the groups of public headers listed.
ROOMS = {
    "base": ((), ("vocabulary", "testing")),
    "observability": (("base",), ("vocabulary", "storage")),
    "model": (("base",), ("vocabulary", "storage")),
    # Of storage, replay knows the values (a TurnCommit is what a turn decided), never a provider.
    "replay": (("base", "model"), ("vocabulary", "storage", "orchestration")),
    "runtime": (("base", "observability", "model", "replay"),
                ("vocabulary", "storage", "orchestration", "engine")),
    "client": (("base", "model"), ("vocabulary", "storage", "orchestration", "engine")),
    "management": (("base", "model"), ("vocabulary", "storage", "engine")),
    "testing": (("base", "observability", "model", "replay", "runtime", "testing"),
                ("vocabulary", "storage", "orchestration", "engine", "stores", "testing")),
    "providers/ledger": (("base", "model"), ("vocabulary", "storage")),
    "providers/memory": (("base", "model", "providers/ledger"),
                         ("vocabulary", "storage", "stores", "testing")),
    "providers/fs": (("base", "model", "providers/ledger"), ("vocabulary", "storage", "stores")),
    "providers/sqlite": (("base", "model", "providers/ledger"),
                         ("vocabulary", "storage", "stores")),
    "providers/postgres": (("base", "model"), ("vocabulary", "storage", "stores")),
    "validation": (("base", "model", "providers/ledger", "providers/memory"),
                   ("vocabulary", "storage", "stores", "validation", "testing")),
    "simulation": (("base", "observability", "model", "replay", "runtime", "client",
                    "providers/ledger", "providers/memory", "providers/fs"), tuple(GROUPS)),
    "cli": (("base", "model", "providers/ledger", "providers/fs", "providers/sqlite"),
            tuple(GROUPS)),
}

# Foreign headers, by beginning, and the places that may include them.
FOREIGN = {
    "nlohmann/": ("include/durable/payload.hpp", "include/durable/standard_payloads.hpp",
                  "include/durable/struct_payload.hpp", "src/cli/", "tests/", "benchmarks/",
                  "examples/"),
    "gtest/": ("include/durable/validation_gtest.hpp", "tests/"),
    "benchmark/": ("benchmarks/",),
    "CLI/": ("src/cli/", "src/simulation/", "benchmarks/"),
    "sqlite3.h": ("src/providers/sqlite/", "benchmarks/", "tests/"),
    "libpq": ("src/providers/postgres/", "tests/"),
}

# Rooms where the same input must give the same output: nothing there may reach the world.
PURE = ("src/model/", "src/replay/", "src/providers/ledger/")
WORLD = {"condition_variable", "ctime", "cstdio", "fcntl.h", "filesystem", "fstream", "future",
         "iostream", "random", "semaphore", "thread", "time.h", "unistd.h"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def group_of(header):
    return next((name for name, (members, _) in GROUPS.items() if header in members), None)


def room_of(name):
    parts = pathlib.PurePosixPath(name).parts
    return "/".join(parts[:2]) if parts[0] == "providers" else parts[0]


def public_problem(user, target, allowed):
    group = group_of(target)
    if group is None:
        return f"<durable/{target}.hpp> is in no group of tools/check_layers.py"
    if group not in allowed:
        return f"{user} may not include <durable/{target}.hpp> ({group})"
    return None


def include_problem(root, name, quote, target):
    """Why this include is against the rules, or None."""
    for beginning, places in FOREIGN.items():
        if target.startswith(beginning) and not name.startswith(places):
            return f"only {', '.join(places)} may include <{target}>"
    if name.startswith(PURE) and target in WORLD:
        return f"this room is pure: <{target}> reaches the world"

    is_public = target.startswith("durable/")
    if is_public and quote == '"':
        return f'write <{target}>, not "{target}"'
    header = target.removeprefix("durable/").removesuffix(".hpp")

    if name.startswith("include/durable/"):
        group = group_of(pathlib.PurePosixPath(name).stem)
        if quote == '"':
            return f'a public header may not include "{target}"'
        if is_public:
            return public_problem(f"group {group}", header, (group, *GROUPS[group][1]))
    elif name.startswith("src/"):
        room = room_of(name.removeprefix("src/"))
        rooms, groups = ROOMS[room]
        if is_public:
            return public_problem(f"room {room}", header, groups)
        if quote == '"':
            if not pathlib.Path(root, "src", target).is_file():
                return f'"{target}" is not a path below src/'
            if room_of(target) not in (room, *rooms):
                return f'room {room} may not include "{target}"'
    elif quote == '"' and target.startswith("cli/") and not name.startswith("tests/unit/cli/"):
        return "nothing includes a program but its own tests"
    return None


def place_problem(name):
    """Why the tables do not know this file, or None."""
    if name.startswith("include/durable/"):
        if group_of(pathlib.PurePosixPath(name).stem) is None:
            return "this header is in no group of tools/check_layers.py"
    elif name.startswith("src/"):
        room = room_of(name.removeprefix("src/"))
        if room not in ROOMS:
            return f"room {room} is not in tools/check_layers.py"
    return None


def problems(root):
    found = []
    for name in sources.cpp_files(root):
        problem = place_problem(name)
        if problem:
            found.append(f"{name}: error: {problem}")
            continue
        text = sources.read(root, name)
        for match in INCLUDE.finditer(text):
            problem = include_problem(root, name, *match.groups())
            if problem:
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{name}:{line}: error: {problem}")
    return found


if __name__ == "__main__":
    sys.exit(sources.report(problems(sys.argv[1])))
