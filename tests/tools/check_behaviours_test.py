"""A behaviour without a test is reported: missing, misspelt, or without a reason."""
import unittest
from unittest import mock

import check_behaviours
from sample_tree import SampleTree

HEAD = "id,behaviour,tests,remark\n"


class CheckBehaviours(SampleTree):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(check_behaviours, "SECTIONS", {"T": 1, "B.1": 2}))
        self.write("tests/replay/race_test.cpp",
                   "TEST(Race, IsWon) {\n}\nTEST_P(Race,\n       IsLost) {\n}\n")
        self.write("src/validation/checks/prune.cpp",
                   'const Check list[] = {\n    {"test_prune", "x"},\n')

    def problems(self, *rows):
        self.write("tests/behaviours.csv", HEAD + "".join(row + "\n" for row in rows))
        return check_behaviours.problems(self.root)

    def test_a_complete_table_passes(self):
        self.assertEqual(self.problems("T-01,hangs,replay/Race.IsWon replay/Race.IsLost,",
                                       "B.1.1,a,validation/test_prune,",
                                       'B.1.2,b,,"not ours, because"'), [])

    def test_a_test_that_does_not_exist_is_reported(self):
        self.assertEqual(self.problems("T-01,hangs,replay/Race.IsOpen,",
                                       "B.1.1,a,e2e/Race.IsWon,",
                                       "B.1.2,b,replay/Race.IsWon,"),
                         ["tests/behaviours.csv:2: error: T-01: "
                          "there is no test replay/Race.IsOpen",
                          "tests/behaviours.csv:3: error: B.1.1: there is no test e2e/Race.IsWon"])

    def test_a_missing_behaviour_is_reported(self):
        self.assertEqual(self.problems("T-01,hangs,replay/Race.IsWon,",
                                       "B.1.2,b,replay/Race.IsWon,"),
                         ["tests/behaviours.csv: error: B.1.1 is missing"])

    def test_a_row_needs_a_test_or_a_reason_and_comes_once(self):
        found = self.problems("T-01,hangs,replay/Race.IsWon,", "B.1.1,a,,",
                              "B.1.2,b,replay/Race.IsWon,", "B.1.2,b,replay/Race.IsWon,")

        self.assertEqual(found, ["tests/behaviours.csv:3: error: B.1.1: no test is named, and no "
                                 "reason why there is none",
                                 "tests/behaviours.csv:5: error: B.1.2: listed twice, or in no "
                                 "section of tools/check_behaviours.py"])


if __name__ == "__main__":
    unittest.main()
