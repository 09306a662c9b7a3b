"""Each house rule is broken once, on purpose."""
import unittest

import check_style
from sample_tree import SampleTree

HEADER = "// What it is.\n\n#pragma once\n"


class CheckStyle(SampleTree):
    def assert_rejected(self, name, text, message):
        found = list(check_style.style_problems(name, text))
        self.assertEqual(len(found), 1, found)
        self.assertIn(message, found[0])

    def assert_accepted(self, name, text):
        self.assertEqual(list(check_style.style_problems(name, text)), [])

    def test_time_and_chance_enter_through_base(self):
        now = "auto t = std::chrono::system_clock::now();\n"
        self.assert_rejected("src/replay/a.cpp", now, "time comes from durable::Clock")
        self.assert_accepted("src/base/clock.cpp", now)
        self.assert_accepted("src/cli/a.cpp", "auto t = durable::system_clock()->now();\n")
        self.assert_rejected("src/model/a.cpp", "std::random_device d;\n", "randomness")

    def test_tests_never_sleep(self):
        self.assert_rejected("tests/unit/a_test.cpp", "std::this_thread::sleep_for(1s);\n",
                             "instead of sleeping")

    def test_no_loop_runs_over_the_value_of_a_temporary(self):
        self.assert_rejected("tests/unit/a_test.cpp", "for (const auto& a : b.list().value()) {\n",
                             "before the loop begins")

    def test_tests_are_not_switched_off(self):
        self.assert_rejected("tests/unit/a_test.cpp", "TEST(A, DISABLED_B) {}\n",
                             "a test runs or does not exist")

    def test_nothing_is_left_for_later(self):
        self.assert_rejected("src/base/a.cpp", "// TO" "DO: more\n", "finish it")

    def test_layout(self):
        self.assert_rejected("src/base/a.cpp", "\tint a;\n", "no tabs")
        self.assert_rejected("docs/a.md", "text \n", "no white space")
        self.assert_rejected("docs/a.md", "text", "the last line has no end")
        self.assert_rejected("src/base/a.cpp", "x" * 101 + "\n", "at most 100 columns")
        self.assert_accepted("src/base/a.cpp", "// " + "→" * 97 + "\n")

    def test_a_file_has_a_limit(self):
        self.assert_rejected("src/base/a.cpp", "int a;\n" * 501, "501 lines, at most 500")
        self.assert_accepted("src/base/a.cpp", "int a;\n" * 500)

    def test_a_header_opens_with_its_purpose_and_is_read_once(self):
        self.assert_rejected("src/base/a.hpp", "// What it is.\n", "no #pragma once")
        self.assert_rejected("src/base/a.hpp", "#pragma once\n", "a header opens with")

    def test_a_result_cannot_be_dropped(self):
        for function in ("Result<> close();", "virtual Result<std::vector<int>> read(int n) = 0;",
                         "static Result<Store> open(Path path);"):
            self.assert_rejected("src/a.hpp", HEADER + f"    {function}\n", "[[nodiscard]]")
            self.assert_accepted("src/a.hpp", HEADER + f"    [[nodiscard]] {function}\n")
        self.assert_accepted("src/a.hpp", HEADER + "    Result<> close(int a,\n"
                                                   "                   int b) override;\n")

    def test_paths_of_one_machine_stay_out(self):
        self.assert_rejected("docs/a.md", "see /home/" "ana/notes\n", "no path of one machine")

    def test_links_lead_somewhere(self):
        self.write("docs/there.md", "here\n")
        self.write("README.md", "[a](docs/there.md) [b](docs/gone.md#part) [c](https://x.org)\n")

        self.assertEqual(check_style.problems(self.root),
                         ["README.md:1: error: docs/gone.md does not exist"])

    def test_documents_are_not_wider_than_a_screen(self):
        wide = "word " * 24 + "end"
        self.write("docs/a.md", f"{wide}\n\n| {wide} |\n\n```\n{wide}\n```\n\n- {'x' * 130}\n")

        self.assertEqual(check_style.problems(self.root),
                         ["docs/a.md:1: error: at most 120 columns"])

    def test_code_in_a_page_is_cut_from_a_compiled_file(self):
        self.write("examples/a.cpp", "// A.\nint a();\nint b();\n")
        self.write("a.md", "<!-- from examples/a.cpp -->\n```cpp\nint a();\n```\n\n"
                           "<!-- from examples/a.cpp -->\n```cpp\nint c();\n```\n")

        self.assertEqual(check_style.problems(self.root),
                         ["a.md:6: error: this code is not in examples/a.cpp"])


if __name__ == "__main__":
    unittest.main()
