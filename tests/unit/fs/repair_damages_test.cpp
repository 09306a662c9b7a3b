// Any damage, from a seed: verifying writes nothing, a repair leaves the old store as it was and
// makes one that opens, and "nothing was lost" is true.

#include "base/random.hpp"
#include "providers/fs/fs_provider.hpp"
#include "providers/fs/repair/repair.hpp"
#include "providers/fs/repair/verify.hpp"
#include "unit/fs/finished_instance.hpp"
#include "unit/fs/repair_stage.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

class RepairDamagesTest : public RepairTest {
 protected:
    // Two packs with a deleted instance each, an older checkpoint beside the newest, and small
    // segments behind it.
    void make_store() {
        sizes_ = {.first = 1U << 13U, .largest = 1U << 13U};
        pack_bytes_ = 10'000;
        auto store = open("/store");
        std::string older;
        for (const std::string batch : {"a", "b"}) {
            for (int number = 0; number < 6; ++number) {
                finish_instance(
                    *store, batch + std::to_string(number), std::nullopt, std::string(2'000, 'x'));
            }
            keep_house(*store);
            ASSERT_TRUE(store->delete_instance(batch + "1", false));
            ASSERT_TRUE(store->make_checkpoint());
            older_ = older_.empty() ? only_checkpoint() : older_;
            older = older.empty() ? disk_.content(older_) : older;
        }
        finish_instance(*store, "c0", std::nullopt, std::string(2'000, 'x'));
        ASSERT_TRUE(store->delete_instance("b3", false));
        ASSERT_TRUE(store->enqueue_for_orchestrator(
            work::ExternalRaised{.instance = "b2", .name = "late", .data = "1"}, std::nullopt));
        start_some(*store, "live");
        crash(std::move(store));
        put(older_, older);
        healthy_ = everything();
    }

    std::map<std::string, std::string> everything() {
        std::map<std::string, std::string> files;
        for (const auto& path : disk_.paths()) {
            if (path.starts_with("/store/")) {
                files[path] = disk_.content(path);
            }
        }
        return files;
    }

    void heal() {
        ASSERT_TRUE(remove_tree(disk_, "/new"));
        for (const auto& [path, content] : everything()) {
            ASSERT_TRUE(disk_.remove(path));
        }
        for (const auto& [path, content] : healthy_) {
            put(path, content);
        }
    }

    // The file with the last record, and what may be taken for its successor.
    [[nodiscard]] bool is_end(const std::string& path) const {
        auto last = healthy_.end();
        for (auto file = healthy_.begin(); file != healthy_.end(); ++file) {
            const bool used = file->second.find_first_not_of('\0') != std::string::npos;
            last = used && file->first.starts_with("/store/journal/") ? file : last;
        }
        return path.starts_with("/store/journal/") && path >= last->first;
    }

    std::string any_file(Random& random) {
        const auto files = everything();
        return std::next(files.begin(), static_cast<std::ptrdiff_t>(random.next() % files.size()))
            ->first;
    }

    // What was done, for the reader of a failure.
    std::string damage(Random& random) {
        const auto path = any_file(random);
        auto content = disk_.content(path);
        const auto used = std::max<std::size_t>(content.find_last_not_of('\0') + 1, 1);
        const auto at = random.next() % used;
        const auto length = random.next() % 300;
        end_hit_ = end_hit_ || is_end(path);
        content.resize(std::max<std::size_t>(content.size(), 1));
        switch (random.next() % 7) {
        case 0:
            EXPECT_TRUE(disk_.remove(path));
            return path + " removed";
        case 1:
            disk_.overwrite(path, content.substr(0, at));
            return path + " cut at " + std::to_string(at);
        case 2:
            std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(at),
                        std::min(length, content.size() - at),
                        '\0');
            disk_.overwrite(path, content);
            return path + " zeroed at " + std::to_string(at);
        case 3: {
            const auto begin = content.rfind('\n', at) + 1;
            content.erase(begin, content.find('\n', begin) + 1 - begin);
            disk_.overwrite(path, content);
            return path + " without the line at " + std::to_string(begin);
        }
        case 4: {
            const auto other = any_file(random);
            end_hit_ = end_hit_ || is_end(other);
            const auto taken = disk_.content(other);
            disk_.overwrite(other, content);
            disk_.overwrite(path, taken);
            return path + " exchanged with " + other;
        }
        default:
            content.at(at) = static_cast<char>(content.at(at) ^ (1 << (random.next() % 8)));
            disk_.overwrite(path, content);
            return path + " flipped at " + std::to_string(at);
        }
    }

    std::map<std::string, std::string> healthy_;
    bool end_hit_ = false;
};

TEST_F(RepairDamagesTest, KeepTheirPromisesWhateverIsDamaged) {
    make_store();
    std::uint64_t whole = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        SeededRandom random{seed};
        end_hit_ = false;
        std::string done = "seed " + std::to_string(seed);
        for (auto left = 1 + random.next() % 3; left > 0; --left) {
            done += "; " + damage(random);
        }
        SCOPED_TRACE(done);
        const auto before = everything();

        const auto found = verify(disk_, "/store", repaired_at);
        EXPECT_EQ(everything(), before);
        if (!found) { // FORMAT says another version
            EXPECT_EQ(found.error().code, ErrorCode::unsupported) << found.error().text();
            heal();
            continue;
        }
        const auto state = repaired();
        EXPECT_EQ(everything(), before);
        EXPECT_TRUE(done_.made.clean());
        // What is damaged at the very end looks like a crash, which took what no caller knows of.
        if (done_.lost.empty() && !end_hit_) {
            EXPECT_EQ(state, state_);
            ++whole;
        }
        if (!found->clean() && !done_.lost.empty()) {
            EXPECT_FALSE(disk_.content(done_.list).empty());
        }
        heal();
    }
    EXPECT_GT(whole, 10U) << "damages that cost nothing";
}

} // namespace
} // namespace durable::fs
