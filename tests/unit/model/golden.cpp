#include "unit/model/golden.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace durable::golden {

namespace {

constexpr std::array directories = {std::pair{"events", Shape::event},
                                    std::pair{"work_items", Shape::work_item},
                                    std::pair{"errors", Shape::error}};

template <class Value>
Result<std::string> encoded(const Result<Value>& value) {
    return value ? encode(*value) : std::unexpected{value.error()};
}

} // namespace

std::vector<Line> lines() {
    std::vector<Line> all;
    for (const auto& [directory, shape] : directories) {
        const std::filesystem::path path = std::filesystem::path{DURABLE_GOLDEN_DIR} / directory;
        for (const auto& file : std::filesystem::directory_iterator{path}) {
            std::ifstream stream{file.path()};
            const std::string name = std::string{directory} + '/' + file.path().filename().string();
            for (std::string text; std::getline(stream, text);) {
                all.push_back({.shape = shape, .file = name, .text = text});
            }
        }
    }
    if (all.empty()) {
        throw std::runtime_error{"no golden files in " DURABLE_GOLDEN_DIR};
    }
    std::ranges::sort(all, {}, [](const Line& line) { return std::tie(line.file, line.text); });
    return all;
}

Result<std::string> through_codec(Shape shape, std::string_view text) {
    switch (shape) {
    case Shape::event:
        return encoded(decode_event(text));
    case Shape::work_item:
        return encoded(decode_work_item(text));
    case Shape::error:
        return encoded(decode_error_details(text));
    }
    throw std::logic_error{"no such shape"};
}

} // namespace durable::golden
