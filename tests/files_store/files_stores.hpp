// Stores of examples/providers/files for the kit, each in a directory of its own.

#pragma once

#include <durable/testing.hpp>
#include <durable/validation.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <files_provider.hpp>
#include <unistd.h>

namespace files_store {

// A directory that goes with the test. In memory where there is such a place: the kit makes some
// ten thousand changes, and what a disk does to them is not its business.
class ScratchDirectory {
 public:
    ScratchDirectory() {
        const std::filesystem::path memory{"/dev/shm"};
        const auto base =
            std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
        auto name = (base / "files_store_XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::filesystem::filesystem_error{
                "mkdtemp", name, std::error_code{errno, std::generic_category()}};
        }
        path_ = name;
    }
    ~ScratchDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
    std::filesystem::path path_;
};

class FilesStores final : public durable::validation::Factory {
 public:
    using Stores = durable::Result<std::shared_ptr<durable::Provider>>;

    Stores create() override {
        ++made_;
        return reopen();
    }
    Stores reopen() override { return open(store(), {.clock = clock_}); }
    durable::ManualClock* clock() override { return clock_.get(); }

    // Every hook does what damage does: it changes bytes of a file.
    durable::Result<> corrupt_history(const std::string& instance) override {
        return spoil(instance, "");
    }
    durable::Result<> corrupt_event(const std::string& instance,
                                    std::uint64_t execution_id,
                                    std::uint64_t event_id) override {
        return spoil(instance + "/exec_" + std::to_string(execution_id) + "/",
                     "{\"event_id\":" + std::to_string(event_id) + ",");
    }
    durable::Result<> inject_orchestrator_row(const std::string& instance,
                                              const std::string& text) override {
        return inject("orchestrator", "{\"instance\":\"" + instance + "\"}\n" + text);
    }
    durable::Result<> inject_worker_row(const std::string& text) override {
        return inject("worker", "{}\n" + text);
    }
    durable::Result<std::uint32_t> max_attempt_count(const std::string& instance) override {
        std::uint32_t most = 0;
        for (const auto& entry :
             std::filesystem::directory_iterator{store() + "/queues/orchestrator"}) {
            const auto text = read(entry.path());
            const auto at = text.find("\"attempts\":");
            if (text.find("\"instance\":\"" + instance + "\"") < text.find('\n')) {
                most = std::max(most, static_cast<std::uint32_t>(std::stoul(text.substr(at + 11))));
            }
        }
        return most;
    }

    [[nodiscard]] std::string store() const {
        return scratch_.path() / ("store_" + std::to_string(made_));
    }

 private:
    static std::string read(const std::filesystem::path& file) {
        std::ifstream in{file, std::ios::binary};
        return {std::istreambuf_iterator<char>{in}, {}};
    }
    static void write(const std::filesystem::path& file, const std::string& text) {
        std::ofstream{file, std::ios::binary} << text;
    }
    // Every event below the directory that begins like this loses its last bracket.
    durable::Result<> spoil(const std::string& below, const std::string& beginning) {
        for (const auto& entry :
             std::filesystem::recursive_directory_iterator{store() + "/instances/" + below}) {
            if (entry.path().filename() != "history.jsonl") {
                continue;
            }
            auto text = read(entry.path());
            for (std::size_t at = 0; at < text.size();) {
                const auto end = text.find('\n', at);
                if (text.compare(at, beginning.size(), beginning) == 0) {
                    text[end - 1] = '#';
                }
                at = end + 1;
            }
            write(entry.path(), text);
        }
        return {};
    }
    durable::Result<> inject(const std::string& queue, const std::string& text) {
        const auto directory = store() + "/queues/" + queue;
        std::filesystem::create_directories(directory);
        auto number = std::to_string(++injected_);
        write(directory + "/" + std::string(12 - number.size(), '0') + number + ".json", text);
        return {};
    }

    ScratchDirectory scratch_;
    std::shared_ptr<durable::ManualClock> clock_ = std::make_shared<durable::ManualClock>();
    std::uint64_t made_ = 0;
    std::uint64_t injected_ = 0;
};

} // namespace files_store
