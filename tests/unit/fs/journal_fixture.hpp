// A journal on a simulated disk.

#pragma once

#include "providers/fs/journal/journal.hpp"
#include "simulation/sim_files.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {

class JournalTest : public ::testing::Test {
 protected:
    inline static const std::string directory = "/journal";

    void SetUp() override { ASSERT_TRUE(make_directories(disk_, directory)); }

    // Opens what is there, as a store does.
    void open(JournalOptions options = {.writer_thread = false}) {
        journal_.reset();
        seen_.clear();
        auto end = read();
        ASSERT_TRUE(end) << end.error().text();
        ASSERT_TRUE(cut_journal(disk_, directory, *end));
        options.segment_sizes = {.first = 1024, .largest = 4096};
        journal_.emplace(disk_, directory, options, *end);
    }

    Result<JournalEnd> read(Lsn after = 0) {
        return read_journal(disk_, directory, after, [&](const JournalRecord& record) -> Result<> {
            seen_.emplace_back(record.json);
            return {};
        });
    }

    Result<Lsn> append(const std::string& text) {
        return journal_->append([&](std::string& out) -> Result<> {
            out += "\"text\":\"" + text + "\"";
            return {};
        });
    }

    // The texts of all records that can be read.
    std::vector<std::string> texts() {
        std::vector<std::string> found;
        for (const auto& json : seen_) {
            const auto begin = json.find("\"text\":\"") + 8;
            found.push_back(json.substr(begin, json.size() - begin - 2));
        }
        return found;
    }

    void crash(simulation::Survival survival) {
        disk_.restart(survival);
        journal_.reset();
    }

    simulation::SimFiles disk_{7};
    std::optional<Journal> journal_;
    std::vector<std::string> seen_;
};

} // namespace durable::fs
