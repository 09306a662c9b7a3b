"""READMEs that leave out a directory, or name what is not there."""
import pathlib
import unittest

import check_rooms
from sample_tree import SampleTree


class CheckRooms(SampleTree):
    def setUp(self):
        super().setUp()
        self.write("src/base/clock.cpp", "void tick() {}\n")
        self.write("src/README.md", "**base/** is time.\n")
        self.write("tests/unit/base/clock_test.cpp", "\n")
        self.write("tests/README.md", "**unit/base/** proves it.\n")

    def assert_found(self, *expected):
        self.assertEqual(check_rooms.problems(self.root), list(expected))

    def test_a_tree_with_every_directory_named(self):
        self.assert_found()

    def test_a_room_without_a_paragraph(self):
        self.write("src/replay/engine.hpp", "\n")
        self.assert_found("src/README.md: error: replay/ is not described")

    def test_a_directory_without_sources_needs_none(self):
        self.write("src/art/picture.txt", "\n")
        self.assert_found()

    def test_a_kind_of_test_without_a_paragraph(self):
        self.write("tests/golden/events.jsonl", "\n")
        self.assert_found("tests/README.md: error: golden/ is not described")

    def test_a_missing_guide(self):
        pathlib.Path(self.root, "tests/README.md").unlink()
        self.assert_found("tests/README.md: error: it is missing")

    def test_a_room_with_a_guide_of_its_own_names_its_directories(self):
        self.write("src/README.md", "**base/** **fs/** **fs/journal/**\n")
        self.write("src/fs/fs.cpp", "\n")
        self.write("src/fs/journal/journal.cpp", "\n")
        self.write("src/fs/README.md", "The room.\n")
        self.assert_found("src/fs/README.md: error: journal/ is not described")

    def test_a_file_that_does_not_exist(self):
        self.write("src/README.md", "**base/**\n`base/watch.cpp`\n")
        self.assert_found("src/README.md:2: error: base/watch.cpp does not exist")

    def test_a_function_that_is_not_in_its_file(self):
        self.write("src/README.md", "**base/** `tick` (`base/clock.cpp`)\n"
                                    "`tick` and `tock` (`base/clock.cpp`)\n")
        self.assert_found("src/README.md:2: error: tock is not in src/base/clock.cpp")


if __name__ == "__main__":
    unittest.main()
