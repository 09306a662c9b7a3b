"""The checks see the same files with git, in a tarball, and on a machine without git."""
import os
import subprocess
import unittest
from unittest import mock

import sources
from sample_tree import SampleTree


class Sources(SampleTree):
    def setUp(self):
        super().setUp()
        self.write("src/a.cpp", "")
        self.write("build/dev/b.cpp", "")
        self.write(".gitignore", "/build/\n")

    def test_a_tarball_is_walked(self):
        self.assertEqual(sources.all_files(self.root), [".gitignore", "src/a.cpp"])

    def test_a_clone_on_a_machine_without_git_is_walked(self):
        os.mkdir(os.path.join(self.root, ".git"))

        with mock.patch.dict(os.environ, {"PATH": ""}):
            self.assertEqual(sources.all_files(self.root), [".gitignore", "src/a.cpp"])

    def test_git_lists_new_files_but_not_ignored_ones(self):
        if sources.git(".", "--version") is None:
            self.skipTest("no git on this machine")
        subprocess.run(["git", "init", "-q", self.root], check=True)

        self.assertEqual(sources.all_files(self.root), [".gitignore", "src/a.cpp"])


if __name__ == "__main__":
    unittest.main()
