#!/usr/bin/env python3
"""Every C++ file is as clang-format-19 would write it. To mend: clang-format-19 -i <file>."""
import concurrent.futures
import shutil
import subprocess
import sys

import sources

FORMATTER = "clang-format-19"
BATCH = 20


def problems(root):
    if not shutil.which(FORMATTER):
        return [f"{FORMATTER} is not installed"]
    names = sources.cpp_files(root)
    batches = [names[i:i + BATCH] for i in range(0, len(names), BATCH)]

    def run(batch):
        done = subprocess.run([FORMATTER, "--dry-run", "-Werror", *batch], cwd=root,
                              capture_output=True, text=True, check=False)
        return done.stderr.splitlines() if done.returncode else []

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        lines = [line for result in pool.map(run, batches) for line in result]
    return [line for line in lines if "error:" in line]


if __name__ == "__main__":
    sys.exit(sources.report(problems(sys.argv[1])))
