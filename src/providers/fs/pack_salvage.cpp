#include "providers/fs/pack_salvage.hpp"

#include "providers/fs/frame.hpp"
#include "providers/fs/frame_scan.hpp"
#include "providers/fs/image_codec.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>

namespace durable::fs {

namespace {

class PackSalvor {
 public:
    PackSalvor(const std::string& path,
               std::string_view content,
               const PackRecord& record,
               const std::function<void(const ledger::InstanceImage&)>& each)
        : path_{path}, content_{content}, record_{record}, each_{each} {}

    SalvagedPack run() {
        read_index();
        read_data();
        number_lines();
        lay_out();
        tell_lost();
        return std::move(found_);
    }

 private:
    // A line of the data that is whole.
    struct Line {
        PackLine said;
        std::uint64_t offset = 0;
        std::optional<std::uint64_t> number;
    };

    void lose(std::uint64_t offset, std::string_view bytes, std::string what) {
        found_.remains.push_back({.path = path_,
                                  .offset = offset,
                                  .bytes = std::string{bytes},
                                  .what = std::move(what)});
    }

    void read_index() {
        const auto begin = std::min<std::uint64_t>(record_.index_at, content_.size());
        auto at = first_frame_at(record_.number);
        scan_frames(content_.substr(begin),
                    {.whole =
                         [&](std::string_view json, std::uint64_t offset) {
                             if (auto line = decode_pack_line(json)) {
                                 at += line->size;
                                 index_.push_back(*std::move(line));
                             } else {
                                 lose(begin + offset, json, "no line of a pack's index");
                             }
                         },
                     .damaged =
                         [&](std::string_view bytes, std::uint64_t offset) {
                             lose(begin + offset, bytes, "no whole line of a pack's index");
                         }});
        index_whole_ = index_.size() == record_.instances && at == record_.index_at;
        if (!index_whole_ && found_.remains.empty()) {
            lose(content_.size(), {}, "the index of the pack is not whole");
        }
    }

    void read_data() {
        const auto first = first_frame_at(record_.number);
        std::uint64_t reached = 0;
        scan_frames(content_.substr(0, record_.index_at),
                    {.whole =
                         [&](std::string_view json, std::uint64_t offset) {
                             reached = offset + json.size() + frame_overhead;
                             if (offset >= first) {
                                 take_line(json, offset);
                             }
                         },
                     .damaged =
                         [&](std::string_view bytes, std::uint64_t offset) {
                             reached = offset + bytes.size();
                             lose(offset, bytes, "no whole line of a pack");
                         }});
        // Zeros at the end are passed over as unused, but here everything was used.
        if (reached < record_.index_at) {
            const auto length = std::min<std::uint64_t>(record_.index_at, content_.size());
            lose(reached, content_.substr(reached, length - reached), "the pack is cut off");
        }
    }

    void take_line(std::string_view json, std::uint64_t offset) {
        auto image = decode_image(json);
        if (!image) {
            lose(offset, json, image.error().message);
            return;
        }
        each_(*image);
        lines_.push_back({.said = line_of(*image, json.size() + frame_overhead),
                          .offset = offset,
                          .number = std::nullopt});
    }

    static std::uint64_t end_of(const Line& line) { return line.offset + line.said.size; }

    void number_lines() {
        if (index_whole_) {
            number_by_index();
            return;
        }
        // From the front up to the first damage, from the end down to the last.
        std::uint64_t expected = first_frame_at(record_.number);
        for (std::uint64_t number = 0; number < lines_.size(); ++number) {
            if (lines_[number].offset != expected) {
                break;
            }
            lines_[number].number = number;
            expected = end_of(lines_[number]);
        }
        expected = record_.index_at;
        std::uint64_t number = record_.instances;
        for (auto line = lines_.rbegin();
             line != lines_.rend() && number > 0 && end_of(*line) == expected;
             ++line) {
            line->number = --number;
            expected = line->offset;
        }
    }

    void number_by_index() {
        auto offset = first_frame_at(record_.number);
        auto line = lines_.begin();
        for (std::uint64_t number = 0; number < index_.size() && line != lines_.end(); ++number) {
            for (; line != lines_.end() && line->offset < offset; ++line) {
            }
            if (line != lines_.end() && line->offset == offset) {
                line->number = number;
            }
            offset += index_[number].size;
        }
    }

    [[nodiscard]] bool dead(std::uint64_t number) const {
        return std::ranges::binary_search(record_.dead, number);
    }

    void lay_out() {
        auto at = first_frame_at(record_.number);
        const auto add = [&](PackLine line, bool live) {
            at += line.size;
            found_.stretches.push_back(std::move(line));
            found_.live.push_back(live);
        };
        for (const auto& line : lines_) {
            if (at < line.offset) {
                add({.size = line.offset - at}, false);
            }
            const bool known = line.number.has_value() || record_.dead.empty();
            if (!known) {
                lose(line.offset,
                     content_.substr(line.offset, line.said.size),
                     "instance \"" + line.said.id +
                         "\": damage around it hides whether this is its last state");
            }
            add(line.said, known && !(line.number && dead(*line.number)));
        }
    }

    void tell_lost() {
        std::uint64_t live = 0;
        std::unordered_set<std::string_view> saved;
        for (std::size_t line = 0; line < found_.stretches.size(); ++line) {
            if (found_.live[line]) {
                ++live;
                saved.insert(found_.stretches[line].id);
            }
        }
        if (index_whole_) {
            for (std::uint64_t number = 0; number < index_.size(); ++number) {
                if (!dead(number) && !saved.contains(index_[number].id)) {
                    found_.lost.push_back(path_ + ": instance \"" + index_[number].id + "\"");
                }
            }
            return;
        }
        const auto had = record_.instances - record_.dead.size();
        if (live < had) {
            found_.lost.push_back(path_ + ": " + std::to_string(had - live) + " of its " +
                                  std::to_string(had) + " instances");
        }
    }

    const std::string& path_;
    const std::string_view content_;
    const PackRecord& record_;
    const std::function<void(const ledger::InstanceImage&)>& each_;
    std::vector<PackLine> index_;
    bool index_whole_ = false;
    std::vector<Line> lines_;
    SalvagedPack found_;
};

} // namespace

SalvagedPack salvage_pack(const std::string& path,
                          std::string_view content,
                          const PackRecord& record,
                          const std::function<void(const ledger::InstanceImage&)>& each) {
    return PackSalvor{path, content, record, each}.run();
}

} // namespace durable::fs
