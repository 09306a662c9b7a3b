#!/usr/bin/env python3
"""House rules that a regular expression can see. CONTRIBUTING.md says why each exists.

A rule names the files it covers and the places that are excused; an excuse needs a reason.
"""
import pathlib
import re
import sys

import sources

CODE = (".cpp", ".hpp", ".py", ".cmake", ".sh", "CMakeLists.txt")
TEXT = (*CODE, ".md", ".json", ".yml", ".sql")

# Longer than this, a file hides a second noun. A file is excused here with its own limit.
MAX_LINES = 500
LONGER_FILES = {}
MAX_COLUMNS = 100
MAX_TEXT_COLUMNS = 120  # of documents


class Rule:
    def __init__(self, pattern, message, files=sources.CPP, where=("",), excused=()):
        self.pattern = re.compile(pattern, re.M)
        self.message = message
        self.files, self.where, self.excused = files, where, excused

    def covers(self, name):
        return name.endswith(self.files) and name.startswith(self.where) \
            and not name.startswith(self.excused)


# Words are split so that this file does not break its own rules.
RULES = [
    Rule(r"\b(system|steady|high_resolution)_clock::now\b",
         "time comes from durable::Clock", excused=("src/base/", "benchmarks/")),
    Rule(r"\brandom_device\b|\bs?rand\(",
         "randomness comes from base/, so that a seed reproduces it", excused=("src/base/",)),
    Rule(r"\bthis_thread::sleep_|\b(sleep_for|usleep|nanosleep)\(",
         "wait for a condition under a Clock instead of sleeping", excused=("src/base/",)),
    Rule(r"\bfor \([^;]* : .*\)\.value\(\)\) ?{",
         "g++ 12 destroys the Result before the loop begins: give its value a name first"),
    Rule(r"\bDISABLED_|\bGTEST_SKIP\b", "a test runs or does not exist", where=("tests/",)),
    Rule(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", "finish it, or write an issue", files=TEXT),
    Rule(r"\t", "no tabs", files=TEXT),
    Rule(r"[ \r]$", "no white space at the end of a line", files=TEXT),
    Rule(r"^.{%d,}$" % (MAX_COLUMNS + 1), f"at most {MAX_COLUMNS} columns",
         files=(*sources.CPP, ".py")),
    Rule(r"(?<![\w.])/(home|work|root|tmp)/\w", "no path of one machine", files=TEXT,
         excused=("tests/",)),
]

# std::expected is not [[nodiscard]] as a class, so every function that returns one says it; an
# override is called through the declaration that it overrides.
RESULT = re.compile(r"^[ ]*(?:(?:static|virtual|inline|constexpr)\s+)*Result<[^;={}()]*>\s+\w+\("
                    r"[^;{}]*", re.M)

# A code block below such a line is cut from a compiled file.
QUOTED = re.compile(r"^<!-- from (\S+) -->\n+```\w*\n(.*?)^```", re.M | re.S)

LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s#]+)(?:#[^)\s]*)?\)")


def style_problems(name, text):
    for rule in RULES:
        if rule.covers(name):
            for match in rule.pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{name}:{line}: error: {rule.message}"
    if name.endswith(TEXT) and text and not text.endswith("\n"):
        yield f"{name}: error: the last line has no end"
    if name.endswith(sources.CPP):
        limit = LONGER_FILES.get(name, MAX_LINES)
        lines = text.count("\n")
        if lines > limit:
            yield f"{name}: error: {lines} lines, at most {limit}: find the second noun"
    if name.endswith(".hpp") and "#pragma once\n" not in text:
        yield f"{name}: error: no #pragma once"
    if name.endswith(".hpp") and not name.startswith("tests/"):
        yield from dropped_result_problems(name, text)
    if name.endswith(".hpp") and not text.startswith("//"):
        yield f"{name}: error: a header opens with what it is and the one thing to know"


def dropped_result_problems(name, text):
    for match in RESULT.finditer(text):
        if not match.group().rstrip().endswith("override"):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{name}:{line}: error: a function that returns a Result is [[nodiscard]]"


def wide_text_problems(name, text):
    """Lines of a document that could be broken. Tables and code cannot, nor can a long word."""
    code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            code = not code
        breakable = " " in line[:MAX_TEXT_COLUMNS].lstrip(" -*0123456789.")
        if len(line) > MAX_TEXT_COLUMNS and not code and not line.startswith("|") and breakable:
            yield f"{name}:{number}: error: at most {MAX_TEXT_COLUMNS} columns"


def link_problems(root, name, text):
    for match in LINK.finditer(text):
        target = match.group(1)
        if not re.match(r"[a-z]+:", target) and \
                not pathlib.Path(root, name).parent.joinpath(target).exists():
            line = text.count("\n", 0, match.start()) + 1
            yield f"{name}:{line}: error: {target} does not exist"


def quotation_problems(root, name, text):
    for match in QUOTED.finditer(text):
        source = pathlib.Path(root, match.group(1))
        if not source.is_file() or match.group(2) not in source.read_text(encoding="utf-8"):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{name}:{line}: error: this code is not in {match.group(1)}"


def problems(root):
    found = []
    for name in sources.all_files(root):
        if name.endswith(TEXT):
            text = sources.read(root, name)
            found += style_problems(name, text)
            if name.endswith(".md"):
                found += wide_text_problems(name, text)
                found += link_problems(root, name, text)
                found += quotation_problems(root, name, text)
    return found


if __name__ == "__main__":
    sys.exit(sources.report(problems(sys.argv[1])))
