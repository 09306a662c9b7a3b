"""Which files the checks look at: what git tracks plus what is new and not ignored; without git (a
tarball, a foreign checkout) every file outside build directories."""
import os
import pathlib
import shutil
import subprocess

CPP = (".cpp", ".hpp")


def git(root, *arguments):
    """What the command prints; None when there is no git, no repository, or no answer."""
    if not shutil.which("git"):
        return None
    done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def all_files(root):
    """Paths relative to root, with forward slashes, sorted."""
    listing = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listing is not None and pathlib.Path(root, ".git").exists():
        names = listing.split("\0")
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
