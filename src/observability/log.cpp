#include "base/mutex.hpp"
#include "base/timestamp.hpp"
#include "base/utf8.hpp"

#include <durable/log.hpp>

#include <array>
#include <cstdio>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace durable {

namespace {

// A record begins with one line of text, whatever bytes its user writes.
using utf8::append_one_line;

constexpr std::string_view next_line = "\n    ";

// The further lines of a text are indented: no record begins like that.
void append_lines(std::string& line, std::string_view text) {
    for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
        append_one_line(line, text.substr(0, end));
        line += next_line;
        text.remove_prefix(end + 1);
    }
    append_one_line(line, text);
}

std::string as_text(const LogRecord& record) {
    auto line = timestamp(record.time);
    line.append(" ").append(name_of(record.level)).append(" ");
    append_one_line(line, record.source);
    if (!record.instance.empty()) {
        line += ' ';
        append_one_line(line, record.instance);
        if (record.execution_id != 0) {
            line += '/' + std::to_string(record.execution_id);
        }
        if (record.turn != 0) {
            line += '#' + std::to_string(record.turn);
        }
    }
    auto message = record.message;
    while (message.ends_with('\n')) {
        message.remove_suffix(1);
    }
    line += ' ';
    append_lines(line, message);
    auto before = message.contains('\n') ? next_line : " ";
    for (const auto& field : record.fields) {
        line += std::exchange(before, " ");
        append_one_line(line, field.name);
        line += '=';
        append_one_line(line, field.value);
    }
    line += '\n';
    return line;
}

void append_json(std::string& line, std::string_view text) {
    line += '"';
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at != end;) {
        const auto length = utf8::character_length(at, end);
        if (length == 0) {
            line += "\\ufffd"; // JSON cannot carry a byte that is not UTF-8
        } else if (utf8::is_control(at, length)) {
            std::array<char, 8> escape{};
            std::snprintf(escape.data(),
                          escape.size(),
                          "\\u%04x",
                          static_cast<unsigned>(utf8::byte_of(at[length - 1])));
            line += escape.data();
        } else {
            if (*at == '"' || *at == '\\') {
                line += '\\';
            }
            line.append(at, length);
        }
        at += length == 0 ? 1 : length;
    }
    line += '"';
}

void append_member(std::string& line, std::string_view name, std::string_view value) {
    line += ',';
    append_json(line, name);
    line += ':';
    append_json(line, value);
}

std::string as_json(const LogRecord& record) {
    std::string line = R"({"time":")" + timestamp(record.time) + '"';
    append_member(line, "level", name_of(record.level));
    append_member(line, "source", record.source);
    append_member(line, "message", record.message);
    if (!record.instance.empty()) {
        append_member(line, "instance", record.instance);
    }
    if (record.execution_id != 0) {
        line += R"(,"execution":)" + std::to_string(record.execution_id);
    }
    if (record.turn != 0) {
        line += R"(,"turn":)" + std::to_string(record.turn);
    }
    for (const auto& field : record.fields) {
        append_member(line, field.name, field.value);
    }
    line += "}\n";
    return line;
}

using Format = std::string (*)(const LogRecord&);

class StreamLogger final : public Logger {
 public:
    StreamLogger(std::ostream& out, LogLevel least, Format format)
        : least_{least}, format_{format}, out_{out} {}

    [[nodiscard]] bool enabled(LogLevel level, std::string_view) const noexcept override {
        return level >= least_;
    }

    void write(const LogRecord& record) noexcept override {
        if (record.level < least_) {
            return;
        }
        try {
            const auto line = format_(record);
            const MutexLock lock{mutex_};
            out_ << line << std::flush;
        } catch (...) { // the stream failed, or no memory: there is nowhere to report it
        }
    }

 private:
    LogLevel least_;
    Format format_;
    Mutex mutex_;
    std::ostream& out_ DURABLE_GUARDED_BY(mutex_);
};

class SilentLogger final : public Logger {
 public:
    [[nodiscard]] bool enabled(LogLevel, std::string_view) const noexcept override { return false; }
    void write(const LogRecord&) noexcept override {}
};

} // namespace

std::shared_ptr<Logger> text_logger(std::ostream& out, LogLevel least) {
    return std::make_shared<StreamLogger>(out, least, as_text);
}

std::shared_ptr<Logger> json_logger(std::ostream& out, LogLevel least) {
    return std::make_shared<StreamLogger>(out, least, as_json);
}

std::shared_ptr<Logger> silent_logger() {
    static const auto logger = std::make_shared<SilentLogger>();
    return logger;
}

} // namespace durable
