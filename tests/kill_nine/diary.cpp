#include "kill_nine/diary.hpp"

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace durable::kill_nine {

namespace {

// "what|order|detail|.": the last field tells a whole line from one that was cut off.
constexpr char separator = '|';
constexpr std::string_view line_end = "|.\n";

std::string_view take_field(std::string_view& line) {
    const auto end = line.find(separator);
    if (end == std::string_view::npos) {
        throw std::runtime_error{"a line of the diary has too few fields: " + std::string{line}};
    }
    const auto field = line.substr(0, end);
    line.remove_prefix(end + 1);
    return field;
}

} // namespace

Diary::Diary(const std::string& path)
    : file_{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)} {
    if (file_ < 0) {
        throw std::system_error{errno, std::generic_category(), path};
    }
}

Diary::~Diary() {
    ::close(file_);
}

void Diary::note(std::string_view what, std::string_view order, std::string_view detail) {
    std::string line{what};
    line += separator;
    line += order;
    line += separator;
    line += detail;
    line += line_end;
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        throw std::system_error{errno, std::generic_category(), "the diary"};
    }
}

std::vector<Entry> read_diary(std::string_view text) {
    std::vector<Entry> entries;
    while (!text.empty()) {
        const auto end = text.find(line_end);
        if (end == std::string_view::npos) {
            break; // cut off by the kill
        }
        auto line = text.substr(0, end + 1);
        text.remove_prefix(end + line_end.size());
        Entry entry;
        entry.what = take_field(line);
        entry.order = take_field(line);
        entry.detail = take_field(line);
        if (!line.empty()) {
            throw std::runtime_error{"a line of the diary has too many fields"};
        }
        entries.push_back(std::move(entry));
    }
    return entries;
}

} // namespace durable::kill_nine
