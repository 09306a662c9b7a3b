#include "providers/fs/pack_salvage.hpp"

#include "providers/fs/frame.hpp"
#include "providers/fs/frame_scan.hpp"
#include "providers/fs/image_codec.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
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
        read_lines();
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

    // What a line is shows in the line: where it should be says nothing in a damaged file.
    void read_lines() {
        std::uint64_t reached = 0;
        auto indexed = first_line();
        scan_frames(content_,
                    {.whole =
                         [&](std::string_view json, std::uint64_t offset) {
                             reached = offset + json.size() + frame_overhead;
                             if (is_pack_record(json)) {
                                 return; // the first line
                             }
                             if (auto line = decode_pack_line(json)) {
                                 indexed += line->size;
                                 index_.push_back(*std::move(line));
                             } else {
                                 take_line(json, offset);
                             }
                         },
                     .damaged =
                         [&](std::string_view bytes, std::uint64_t offset) {
                             reached = offset + bytes.size();
                             lose(offset,
                                  bytes,
                                  offset < record_.index_at ? "no whole line of a pack"
                                                            : "no whole line of a pack's index");
                         }});
        // Zeros at the end are passed over as unused, but here everything was used.
        if (reached < record_.bytes) {
            const auto length = std::min<std::uint64_t>(record_.bytes, content_.size());
            lose(reached, content_.substr(reached, length - reached), "the pack is cut off");
        }
        index_whole_ = index_.size() == record_.instances && indexed == record_.index_at;
        if (!index_whole_ && found_.remains.empty()) {
            lose(content_.size(), {}, "the index of the pack is not whole");
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

    // Where it is in this file, which may have been another one's.
    [[nodiscard]] std::uint64_t first_line() const {
        const auto said = number_said_by_pack(content_);
        return first_frame_at(said != 0 ? said : record_.number);
    }

    static std::uint64_t end_of(const Line& line) { return line.offset + line.said.size; }

    void number_lines() {
        if (index_whole_) {
            number_by_index();
            return;
        }
        // From the front up to the first damage, from the end down to the last.
        std::uint64_t expected = first_line();
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

    // By place, and what is out of place by its id, unless that is there twice.
    void number_by_index() {
        std::unordered_map<std::string_view, std::optional<std::uint64_t>> by_id;
        std::unordered_map<std::uint64_t, std::uint64_t> by_place;
        auto offset = first_line();
        for (std::uint64_t number = 0; number < index_.size(); ++number) {
            const auto [known, first] = by_id.emplace(index_[number].id, number);
            known->second = first ? known->second : std::nullopt;
            by_place.emplace(offset, number);
            offset += index_[number].size;
        }
        for (auto& line : lines_) {
            const auto place = by_place.find(line.offset);
            const auto known = by_id.find(line.said.id);
            if (place != by_place.end() && index_[place->second].id == line.said.id) {
                line.number = place->second;
            } else if (known != by_id.end()) {
                line.number = known->second;
            }
        }
        if (!in_order()) {
            number_from_both_ends();
        }
    }

    // The index has the order of the data. Where it has not, nobody knows which of them was
    // changed.
    [[nodiscard]] bool in_order() const {
        std::optional<std::uint64_t> last;
        for (const auto& line : lines_) {
            if (line.number && last && *line.number < *last) {
                return false;
            }
            last = line.number ? line.number : last;
        }
        return true;
    }

    void number_from_both_ends() {
        for (auto& line : lines_) {
            line.number.reset();
        }
        const auto same = [&](std::size_t line, std::size_t number) {
            return lines_[line].said.id == index_[number].id;
        };
        const auto most = std::min(lines_.size(), index_.size());
        std::size_t front = 0;
        for (; front < most && same(front, front); ++front) {
            lines_[front].number = front;
        }
        for (std::size_t back = 1; front + back <= most; ++back) {
            const auto line = lines_.size() - back;
            const auto number = index_.size() - back;
            if (!same(line, number)) {
                break;
            }
            lines_[line].number = number;
        }
    }

    [[nodiscard]] bool dead(std::uint64_t number) const {
        return std::ranges::binary_search(record_.dead, number);
    }

    [[nodiscard]] std::string_view bytes_of(const Line& line) const {
        return content_.substr(line.offset, line.said.size);
    }

    // Whether the line is the last state of its instance; what hides that is told.
    bool is_live(const Line& line) {
        if (!line.number && !record_.dead.empty()) {
            lose(line.offset,
                 bytes_of(line),
                 "instance \"" + line.said.id +
                     "\": damage around it hides whether this is its last state");
            return false;
        }
        if (line.number && dead(*line.number)) {
            return false;
        }
        const auto [first, fresh] = live_.emplace(line.said.id, &line);
        if (!fresh && bytes_of(*first->second) != bytes_of(line)) {
            lose(line.offset, bytes_of(line), "a second instance \"" + line.said.id + "\"");
        }
        return fresh;
    }

    void lay_out() {
        auto at = first_frame_at(record_.number);
        const auto add = [&](PackLine line, bool live) {
            at += line.size;
            found_.stretches.push_back(std::move(line));
            found_.live.push_back(live);
        };
        for (const auto& line : lines_) {
            const bool live = is_live(line);
            if (line.offset < at) {
                if (live) {
                    found_.outside.push_back(*decode_image(*read_frame(bytes_of(line))));
                }
                continue;
            }
            if (at < line.offset) {
                add({.size = line.offset - at}, false);
            }
            add(line.said, live);
        }
    }

    void tell_lost() {
        if (index_whole_) {
            for (std::uint64_t number = 0; number < index_.size(); ++number) {
                if (!dead(number) && !live_.contains(index_[number].id)) {
                    const auto& id = index_[number].id;
                    found_.lost.push_back({id, path_ + ": instance \"" + id + "\""});
                }
            }
            return;
        }
        const auto had = record_.instances - record_.dead.size();
        if (live_.size() < had) {
            found_.lost.push_back({std::nullopt,
                                   path_ + ": " + std::to_string(had - live_.size()) + " of its " +
                                       std::to_string(had) + " instances"});
        }
    }

    const std::string& path_;
    const std::string_view content_;
    const PackRecord& record_;
    const std::function<void(const ledger::InstanceImage&)>& each_;
    std::vector<PackLine> index_;
    bool index_whole_ = false;
    std::vector<Line> lines_;
    std::unordered_map<std::string_view, const Line*> live_;
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
