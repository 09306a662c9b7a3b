// A logger that keeps everything, for tests that ask what was said.

#pragma once

#include "base/mutex.hpp"

#include <durable/log.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace durable::e2e {

class RecordingLogger final : public Logger {
 public:
    struct Line {
        LogLevel level = LogLevel::info;
        std::string source;
        std::string message;
        std::string instance;
        std::uint64_t execution_id = 0;
        std::uint64_t turn = 0;
        std::string fields; // "name=value name=value"
    };

    [[nodiscard]] bool enabled(LogLevel, std::string_view) const noexcept override { return true; }

    void write(const LogRecord& record) noexcept override {
        std::string fields;
        for (const auto& field : record.fields) {
            fields += fields.empty() ? "" : " ";
            fields.append(field.name).append("=").append(field.value);
        }
        const MutexLock lock{mutex_};
        lines_.push_back({.level = record.level,
                          .source = std::string{record.source},
                          .message = std::string{record.message},
                          .instance = std::string{record.instance},
                          .execution_id = record.execution_id,
                          .turn = record.turn,
                          .fields = std::move(fields)});
    }

    [[nodiscard]] std::vector<Line> lines() const {
        const MutexLock lock{mutex_};
        return lines_;
    }
    // Lines whose message or fields contain the text.
    [[nodiscard]] std::vector<Line> with(std::string_view text) const {
        auto found = lines();
        std::erase_if(found, [&](const Line& line) {
            return !line.message.contains(text) && !line.fields.contains(text);
        });
        return found;
    }

 private:
    mutable Mutex mutex_;
    std::vector<Line> lines_ DURABLE_GUARDED_BY(mutex_);
};

} // namespace durable::e2e
