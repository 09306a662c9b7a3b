"""A finding fails, a clean file is not looked at twice, and changed headers find their sources."""
import contextlib
import io
import os
import pathlib
import types
import unittest

import check_tidy
from sample_tree import SampleTree


class CheckTidy(SampleTree):
    def run_on(self, text):
        self.write(".clang-tidy", "Checks: '-*,modernize-use-nullptr'\nWarningsAsErrors: '*'\n")
        self.write("src/a.cpp", text)
        build = os.path.join(self.root, "build")
        unit = check_tidy.Unit(self.root, {"directory": build, "file": "../src/a.cpp",
                                           "command": "clang++-19 -o a.o -c ../src/a.cpp"})
        unit.headers = {"src/a.cpp"}
        pathlib.Path(build).mkdir(exist_ok=True)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = check_tidy.run(self.root, build, [unit])
        return status, output.getvalue()

    def test_a_finding_fails_and_names_the_file(self):
        status, output = self.run_on("int* a = 0;\n")

        self.assertEqual(status, 1)
        self.assertIn("FAILED src/a.cpp", output)
        self.assertIn("modernize-use-nullptr", output)

    def test_a_clean_file_is_remembered_until_it_changes(self):
        self.assertIn("1 files, 0 known", self.run_on("int* a = nullptr;\n")[1])
        self.assertIn("1 files, 1 known", self.run_on("int* a = nullptr;\n")[1])
        self.assertEqual(self.run_on("int* a = 0;\n")[0], 1)

    def test_a_changed_header_is_seen_through_its_own_source(self):
        def unit(name, *headers):
            return types.SimpleNamespace(name=name, headers=set(headers))

        first = unit("src/a.cpp", "src/store.hpp")
        own = unit("src/store.cpp", "src/store.hpp")
        other = unit("src/z.cpp")

        self.assertEqual(check_tidy.units_of([first, own, other], {"src/store.hpp"}), [own])
        self.assertEqual(check_tidy.units_of([first, own, other], {"src/store.hpp", "src/a.cpp"}),
                         [first])

    def test_the_precompiled_header_is_left_out(self):
        command = ("c++ -Winvalid-pch -Xclang -include-pch -Xclang p.pch -Xclang -include -Xclang "
                   "p.hxx -Xclang -fno-pch-timestamp -Xclang -other -O2 -c a.cpp").split()

        self.assertEqual(check_tidy.without_precompiled_header(command),
                         "c++ -Xclang -other -O2 -c a.cpp".split())


if __name__ == "__main__":
    unittest.main()
