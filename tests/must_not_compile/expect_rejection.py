#!/usr/bin/env python3
"""usage: expect_rejection.py <Clang|GNU> <compiler> <option>... <file.cpp>

The file holds a mistake between `#ifdef MISTAKE` and `#endif`, and the messages we promise:

    // expect: text             every compiler must say it
    // expect(Clang): text      this one must
    // expect alone: text       the only error of every compiler: nothing hides it

Compiled with -DMISTAKE it must be rejected with every promised text. A file is skipped for a
compiler that it expects nothing of.
"""
import os
import re
import subprocess
import sys

SKIPPED = 77


def main(compiler_id, *command):
    path = command[-1]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    alone = re.findall(r"^// expect alone: (.+)$", text, re.M)
    expected = re.findall(r"^// expect(?:\((\w+)\))?: (.+)$", text, re.M)
    expected += [("", message) for message in alone]
    promised = [message for who, message in expected if who in ("", compiler_id)]
    if not promised:
        print(f"{path}: nothing is expected of {compiler_id}")
        return SKIPPED if expected else 1

    done = subprocess.run([*command, "-DMISTAKE"], capture_output=True, text=True, check=False,
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
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
