#!/usr/bin/env python3
"""Every behaviour of tests/behaviours.csv is held by a test that exists.

SECTIONS says how many behaviours each part of the specification has, so that none is forgotten. A
row names the tests that hold its behaviour; without any, its remark says why there is none.
"""
import csv
import pathlib
import re
import sys

import sources

TABLE = "tests/behaviours.csv"

SECTIONS = {
    "T": 32,
    **{f"B.{part}": count for part, count in enumerate(
        (9, 5, 4, 7, 11, 5, 20, 30, 7, 4, 4, 4, 5, 3, 9, 14, 23, 27), start=1)},
    **{f"C.{part}": count for part, count in enumerate(
        (1, 12, 2, 26, 18, 3, 7, 15, 11, 2, 34, 17, 6, 65, 11, 3, 14, 8, 33, 8, 13, 4, 10, 2, 5, 16,
         3, 3, 34, 5, 3, 44, 22, 13, 11, 18, 9, 7, 7, 6, 18, 3, 29), start=1)},
}

TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.M)
CHECK = re.compile(r'^ +\{"(\w+)",', re.M)


def tests_of(root):
    """Every test, named by its place: replay/Race.OfNothingIsAMistake, must_not_compile/bad_name,
    validation/test_kv_clear_all."""
    found = set()
    for path in sources.cpp_files(root):
        place, _, file = path.rpartition("/")
        if place == "src/validation/checks":
            found.update("validation/" + name for name in CHECK.findall(sources.read(root, path)))
        elif place == "tests/must_not_compile":
            found.add("must_not_compile/" + file.removesuffix(".cpp"))
        elif place.startswith("tests/"):
            found.update(f"{place.removeprefix('tests/')}/{suite}.{name}"
                         for suite, name in TEST.findall(sources.read(root, path)))
    return found


def expected_ids():
    for section, count in SECTIONS.items():
        for number in range(1, count + 1):
            yield f"T-{number:02}" if section == "T" else f"{section}.{number}"


def row_problems(row, known):
    tests = row["tests"].split()
    if not tests and not row["remark"]:
        yield "no test is named, and no reason why there is none"
    for name in tests:
        if name not in known:
            yield f"there is no test {name}"


def problems(root):
    known = tests_of(root)
    missing = dict.fromkeys(expected_ids())
    found = []
    with open(pathlib.Path(root, TABLE), encoding="utf-8", newline="") as table:
        for number, row in enumerate(csv.DictReader(table), start=2):
            complaints = list(row_problems(row, known))
            if row["id"] not in missing:
                complaints.append("listed twice, or in no section of tools/check_behaviours.py")
            missing.pop(row["id"], None)
            found += [f"{TABLE}:{number}: error: {row['id']}: {text}" for text in complaints]
    return found + [f"{TABLE}: error: {behaviour} is missing" for behaviour in missing]


if __name__ == "__main__":
    sys.exit(sources.report(problems(sys.argv[1])))
