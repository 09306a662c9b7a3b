"""A file that clang-format would change is reported."""
import unittest

import check_format
from sample_tree import SampleTree


class CheckFormat(SampleTree):
    def test_a_badly_formatted_file_is_reported(self):
        self.write(".clang-format", "BasedOnStyle: LLVM\n")
        self.write("src/good.cpp", "int a = 1;\n")
        self.write("src/bad.cpp", "int  a=1;\n")

        found = check_format.problems(self.root)

        self.assertTrue(found)
        self.assertTrue(all(line.startswith("src/bad.cpp:1:") for line in found), found)


if __name__ == "__main__":
    unittest.main()
