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
    "storage": ({"provider", "provider_admin"}, ("vocabulary",)),
    "orchestration": ({"activity_context", "combine", "context", "contract", "detail/group",
                       "detail/handler", "detail/members", "detail/option_text", "detail/owning",
                       "detail/step", "kv", "operation", "options", "payload", "registry",
                       "standard_payloads", "struct_payload", "task", "undo"}, ("vocabulary",)),
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
    "testing": (("base", "observability", "model", "replay", "runtime", "testing"),
                ("vocabulary", "storage", "orchestration", "engine", "stores", "testing")),
    "providers/rules": (("base", "model"), ("vocabulary", "storage")),
    "providers/ledger": (("base", "model", "providers/rules"), ("vocabulary", "storage")),
    "providers/ledger_store": (("base", "model", "providers/rules", "providers/ledger"),
                               ("vocabulary", "storage")),
    "providers/memory": (("base", "model", "providers/rules", "providers/ledger",
                          "providers/ledger_store"),
                         ("vocabulary", "storage", "stores", "testing")),
    "providers/fs": (("base", "model", "providers/rules", "providers/ledger",
                      "providers/ledger_store"), ("vocabulary", "storage", "stores")),
    "providers/sqlite": (("base", "model", "providers/rules"),
                         ("vocabulary", "storage", "stores")),
    "providers/postgres": (("base", "model"), ("vocabulary", "storage", "stores")),
    "validation": (("base", "model", "providers/ledger", "providers/memory"),
                   ("vocabulary", "storage", "stores", "validation", "testing")),
    "simulation": (("base", "observability", "model", "replay", "runtime", "client",
                    "providers/ledger", "providers/ledger_store", "providers/memory",
                    "providers/fs"), tuple(GROUPS)),
    "cli": (("base", "model", "providers/ledger", "providers/fs", "providers/sqlite"),
            tuple(GROUPS)),
}

# Directories inside a room, in the order of the data flow: each may include itself and those before
# it. What stands beside them in the room may include all of them.
INNER = {
    "providers/fs": ("files", "format", "journal", "packs", "checkpoint", "repair", "views"),
    "providers/sqlite": ("db", "store", "concurrency"),
    "validation": ("support", "checks"),
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
PURE = ("src/model/", "src/replay/", "src/providers/rules/", "src/providers/ledger/")
WORLD = {"condition_variable", "ctime", "cstdio", "fcntl.h", "filesystem", "fstream", "future",
         "iostream", "random", "semaphore", "thread", "time.h", "unistd.h"}

# Rules and ledger are told the time and run under the lock of the provider that calls them.
STILL = ("src/providers/rules/", "src/providers/ledger/")
MOVING = re.compile(r"\b(?:std::(?:atomic|mutex|shared_mutex|condition_variable)|Mutex|MutexLock|"
                    r"Clock|Signal|Random)\b")
COMMENT = re.compile(r"//.*")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def public_name(path):
    return path.removeprefix("include/durable/").removesuffix(".hpp")


def group_of(header):
    return next((name for name, (members, _) in GROUPS.items() if header in members), None)


def room_of(name):
    parts = pathlib.PurePosixPath(name).parts
    return "/".join(parts[:2]) if parts[0] == "providers" else parts[0]


def inner_of(room, name):
    """The directory inside the room, or None for what stands beside the directories."""
    parts = pathlib.PurePosixPath(name).parts[len(pathlib.PurePosixPath(room).parts):]
    return parts[0] if len(parts) > 1 and parts[0] in INNER.get(room, ()) else None


def inner_problem(room, user, target):
    inside = inner_of(room, user)
    if inside is None:
        return None
    order = INNER[room]
    wanted = inner_of(room, target)
    if wanted is None or order.index(wanted) > order.index(inside):
        return f'{room}/{inside} may not include "{target}"'
    return None


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
        group = group_of(public_name(name))
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
            if room_of(target) == room:
                return inner_problem(room, name.removeprefix("src/"), target)
    elif quote == '"' and target.startswith("cli/") and not name.startswith("tests/unit/cli/"):
        return "nothing includes a program but its own tests"
    return None


def place_problem(name):
    """Why the tables do not know this file, or None."""
    if name.startswith("include/durable/"):
        if group_of(public_name(name)) is None:
            return "this header is in no group of tools/check_layers.py"
    elif name.startswith("src/"):
        room = room_of(name.removeprefix("src/"))
        if room not in ROOMS:
            return f"room {room} is not in tools/check_layers.py"
    return None


def still_problems(name, text):
    if not name.startswith(STILL):
        return
    for number, line in enumerate(text.splitlines(), start=1):
        found = MOVING.search(COMMENT.sub("", line))
        if found:
            yield (f"{name}:{number}: error: {found.group()} does not belong here: this room "
                   "is told the time and runs under its caller's lock")


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
        found.extend(still_problems(name, text))
    return found


if __name__ == "__main__":
    sys.exit(sources.report(problems(sys.argv[1])))
