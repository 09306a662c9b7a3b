#!/usr/bin/env python3
"""One await, one line: a co_await may only stand at the head of its statement.

    co_await x;    auto a = co_await x;    auto [a, b] = co_await x;    a = co_await x;
    co_return co_await x;

g++ 12 miscompiles most other places (conditions, ternaries, aggregates, capturing lambdas), and
temporaries made with braces in any place, so nothing that users copy may contain them. Reads C++
files and the C++ blocks of Markdown files.

    check_awaits.py PROJECT    the pages and examples of a checkout
    check_awaits.py FILE...    these files
"""
import os
import re
import sys

import sources

AWAIT = re.compile(r"\bco_await\b")
# What may stand between the start of a statement and its co_await.
HEAD = re.compile(r"(?:(?:else|try|case\b[^:]+:|default\s*:)\s*)*"
                  r"(?:co_return\s+"
                  r"|(?:const\s+)?[\w:<>,\s*&]+?\[[^\]]*\]\s*=\s*"
                  r"|[^=(){};?]*[^=<>!(){};?]=\s*)?$")
# A lambda that captures something, as an operand.
CAPTURE = re.compile(r"[(,|&={]\s*\[[^\]\[]*[\w&=][^\]]*\]\s*[({]")
# A temporary made with braces, as an operand: an aggregate is destroyed twice. Combinators have
# lower-case names, options begin with a designator and are trivial.
TEMPORARY = re.compile(r"(?<![\w.])(?:\w+::)*(?:[A-Z]\w*|array)\s*(?:<[^;{}()]*>)?\s*\{"
                       r"|[(,]\s*\{\s*[^\s.}]")
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
CODE_BLOCK = re.compile(r"^```(?:cpp|c\+\+)\n(.*?)^```", re.S | re.M)
BLOCK_HEADS = ("", "else", "try", "do")


def opens_block(text, brace):
    """Whether the brace at this place opens a block rather than an initialiser."""
    head = re.split(r"[;{}]", text[:brace])[-1].strip()
    return head in BLOCK_HEADS or \
        re.search(r"\)\s*(?:const|noexcept|mutable|->\s*[\w:<>,\s*&]+)?\s*$", head) is not None


def rest_of_statement(text, start):
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(text[place], 0)
        if depth < 0 or depth == 0 and text[place] == ";":
            return text[start:place]
    return text[start:]


def offences(text):
    """The line numbers of misplaced awaits."""
    text = NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    for match in AWAIT.finditer(text):
        start = max(text.rfind(stop, 0, match.start()) for stop in ";{}")
        head = text[start + 1:match.start()].lstrip()
        rest = rest_of_statement(text, match.end())
        fine = HEAD.match(head) and "?" not in rest and not CAPTURE.search(rest) \
            and not AWAIT.search(rest) and not TEMPORARY.search(rest)
        if start >= 0 and text[start] == "{" and not opens_block(text, start):
            fine = False
        if not fine:
            yield text.count("\n", 0, match.start()) + 1


def problems(root, names):
    found = []
    for name in names:
        text = sources.read(root, name)
        if name.endswith(".md"):
            # Blank lines in front keep the line numbers of the page.
            blocks = ["\n" * text.count("\n", 0, m.start(1)) + m.group(1)
                      for m in CODE_BLOCK.finditer(text)]
        else:
            blocks = [text]
        found += [f"{name}:{line}: error: give this co_await a line and its result a name"
                  for block in blocks for line in offences(block)]
    return found


def copied_by_users(root):
    return [name for name in sources.all_files(root)
            if name.endswith(".md") or name.startswith("examples/") and name.endswith(sources.CPP)]


def main(paths):
    if len(paths) == 1 and os.path.isdir(paths[0]):
        return sources.report(problems(paths[0], copied_by_users(paths[0])))
    missing = [path for path in paths if not os.path.isfile(path)]
    if missing or not paths:
        print(f"check_awaits.py: no such file: {missing[0]}" if missing
              else "usage: check_awaits.py PROJECT | FILE...", file=sys.stderr)
        return 2
    return sources.report(problems("", paths))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
