"""Which files the checks look at: what git tracks plus what is new and not ignored; without git (a
tarball, a foreign checkout) every file outside build directories."""
import os
import pathlib
import subprocess

CPP = (".cpp", ".hpp")


def all_files(root):
    """Paths relative to root, with forward slashes, sorted."""
    listing = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=False) if (pathlib.Path(root) / ".git").exists() else None
    if listing and listing.returncode == 0:
        names = listing.stdout.decode().split("\0")
        return sorted({n for n in names if n and os.path.isfile(os.path.join(root, n))})
    names = []
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = [s for s in subfolders if s not in (".git", "build", "__pycache__")]
        names += [pathlib.Path(folder, f).relative_to(root).as_posix() for f in files]
    return sorted(names)


def cpp_files(root):
    return [name for name in all_files(root) if name.endswith(CPP)]


def read(root, name):
    return pathlib.Path(root, name).read_text(encoding="utf-8")


def report(problems):
    """Prints one line per problem; the exit status of the calling tool."""
    for problem in problems:
        print(problem)
    return 1 if problems else 0
