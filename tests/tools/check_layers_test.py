"""An include against the arrows is reported, with file, line and reason; one along them is not."""
import pathlib
import unittest

import check_layers
from sample_tree import SampleTree


class CheckLayers(SampleTree):
    def setUp(self):
        super().setUp()
        for header in ("base/mutex", "model/ids", "replay/replayer", "runtime/runner"):
            self.write(f"src/{header}.hpp", "// A header.\n")

    def only_problem(self):
        found = check_layers.problems(self.root)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_includes_along_the_arrows_pass(self):
        self.write("include/durable/provider.hpp", "#include <durable/result.hpp>\n")
        self.write("src/runtime/a.cpp",
                   '#include "replay/replayer.hpp"\n#include "base/mutex.hpp"\n'
                   "#include <durable/provider.hpp>\n#include <vector>\n")
        self.write("tests/unit/a.cpp", '#include "replay/replayer.hpp"\n#include <gtest/gtest.h>\n')

        self.assertEqual(check_layers.problems(self.root), [])

    def test_a_room_may_not_look_back(self):
        self.write("src/replay/a.cpp", '#include <vector>\n#include "runtime/runner.hpp"\n')

        self.assertEqual(self.only_problem(), "src/replay/a.cpp:2: error: "
                         'room replay may not include "runtime/runner.hpp"')

    def test_a_provider_may_not_know_the_runtime(self):
        self.write("src/providers/sqlite/a.cpp", "#include <durable/runtime.hpp>\n")

        self.assertIn("room providers/sqlite may not include <durable/runtime.hpp> (engine)",
                      self.only_problem())

    def test_public_headers_keep_their_order_and_hide_the_private_ones(self):
        self.write("include/durable/result.hpp", "#include <durable/provider.hpp>\n")
        self.assertIn("group vocabulary may not include <durable/provider.hpp> (storage)",
                      self.only_problem())

        self.write("include/durable/result.hpp", '#include "base/mutex.hpp"\n')
        self.assertIn('a public header may not include "base/mutex.hpp"', self.only_problem())

    def test_json_stays_behind_its_door(self):
        self.write("src/model/codec.cpp", "#include <nlohmann/json.hpp>\n")

        self.assertIn("may include <nlohmann/json.hpp>", self.only_problem())

    def test_a_pure_room_does_not_reach_the_world(self):
        self.write("src/replay/a.cpp", "#include <thread>\n")

        self.assertIn("this room is pure: <thread> reaches the world", self.only_problem())

    def test_directories_of_a_room_follow_its_data_flow(self):
        self.write("src/providers/fs/format/frame.hpp", "// A header.\n")
        self.write("src/providers/fs/journal/journal.hpp",
                   '#include "providers/fs/format/frame.hpp"\n')
        self.write("src/providers/fs/provider.cpp", '#include "providers/fs/journal/journal.hpp"\n')
        self.assertEqual(check_layers.problems(self.root), [])

        self.write("src/providers/fs/format/a.cpp", '#include "providers/fs/journal/journal.hpp"\n')
        self.assertIn('providers/fs/format may not include "providers/fs/journal/journal.hpp"',
                      self.only_problem())

    def test_the_ledger_has_no_mutex_and_no_clock(self):
        self.write("src/providers/ledger/a.hpp", "// Under the Mutex of its provider.\nint a;\n")
        self.assertEqual(check_layers.problems(self.root), [])

        self.write("src/providers/ledger/a.hpp", "#include <durable/time.hpp>\nClock& clock;\n")
        self.assertIn("a.hpp:2: error: Clock does not belong here", self.only_problem())

    def test_new_rooms_and_new_public_headers_must_be_entered(self):
        self.write("src/attic/a.cpp", "#include <vector>\n")
        self.assertIn("room attic is not in tools/check_layers.py", self.only_problem())

        pathlib.Path(self.root, "src/attic/a.cpp").unlink()
        self.write("include/durable/novelty.hpp", "#include <vector>\n")
        self.assertIn("this header is in no group", self.only_problem())

    def test_a_private_header_is_named_by_its_path(self):
        self.write("src/replay/a.cpp", '#include "replayer.hpp"\n')

        self.assertIn('"replayer.hpp" is not a path below src/', self.only_problem())


if __name__ == "__main__":
    unittest.main()
