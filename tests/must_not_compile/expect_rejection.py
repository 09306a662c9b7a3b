#!/usr/bin/env python3
"""usage: expect_rejection.py <Clang|GNU> <compile_commands.json> <control.cpp> <file.cpp>

The file holds a mistake between `#ifdef MISTAKE` and `#endif`, and the messages we promise:

    // expect: text             every compiler must say it
    // expect(Clang): text      this one must
    // expect alone: text       the only error of every compiler: nothing hides it
    // expect at most: 40 lines of output, with the notes about how it came to the error

Compiled with -DMISTAKE, otherwise as the build compiles the control, it must be rejected with every
promised text. A file is skipped for a compiler that it expects nothing of.
"""
import json
import os
import re
import shlex
import subprocess
import sys

SKIPPED = 77


# Options of the build that name an output, and how many words they are.
OUTPUTS = {"-c": 1, "-o": 2, "-MD": 1, "-MT": 2, "-MF": 2}


def command_like(database, control):
    """Where and how the build compiles the control, without its name and its outputs."""
    with open(database, encoding="utf-8") as file:
        entry = next(entry for entry in json.load(file) if entry["file"] == control)
    words = [word for word in shlex.split(entry["command"]) if word != control]
    if os.path.basename(words[0]) == "ccache":
        del words[0]
    kept = []
    while words:
        length = OUTPUTS.get(words[0], 0)
        kept += words[:1] if length == 0 else []
        del words[:max(length, 1)]
    return entry["directory"], kept


def main(compiler_id, database, control, path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    alone = re.findall(r"^// expect alone: (.+)$", text, re.M)
    expected = re.findall(r"^// expect(?:\((\w+)\))?: (.+)$", text, re.M)
    expected += [("", message) for message in alone]
    promised = [message for who, message in expected if who in ("", compiler_id)]
    if not promised:
        print(f"{path}: nothing is expected of {compiler_id}")
        return SKIPPED if expected else 1

    directory, command = command_like(database, control)
    # Warnings are errors here whatever the preset says: some mistakes are rejected by a warning.
    done = subprocess.run([*command, "-fsyntax-only", "-Werror", "-DMISTAKE", path], cwd=directory,
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    if done.returncode == 0:
        print(f"{path}: the mistake compiles")
        return 1
    missing = [message for message in promised if message not in done.stderr]
    for message in missing:
        print(f"{path}: rejected without saying: {message}")
    if missing:
        print(done.stderr)
    errors = re.findall(r"error: .*", done.stderr)
    if alone and len(errors) > 1:
        print(f"{path}: more than the one error that was promised:", *errors, sep="\n  ")
        return 1
    lines = done.stderr.count("\n")
    limit = re.search(r"^// expect at most: (\d+) lines", text, re.M)
    if limit and lines > int(limit[1]):
        print(f"{path}: {lines} lines of output, at most {limit[1]} are promised")
        return 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
