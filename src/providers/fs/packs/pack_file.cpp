#include "providers/fs/packs/pack_file.hpp"

#include "base/try.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/format/frame.hpp"
#include "providers/fs/format/frame_file.hpp"
#include "providers/fs/format/image_codec.hpp"
#include "providers/fs/format/json_object.hpp"
#include "providers/fs/journal/segments.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

namespace durable::fs {

namespace {

using wire::JsonName;
using wire::JsonReader;
using wire::JsonWriter;

constexpr std::string_view suffix = ".pack";
constexpr std::uint64_t pack_version = 1;

std::string header_of(std::uint64_t number) {
    return frame_of("{\"pack\":" + std::to_string(pack_version) +
                    ",\"number\":" + std::to_string(number) + "}");
}

Result<> append_line(std::string& out, const PackLine& line) {
    return append_frame(out, [&](std::string& json) {
        JsonWriter writer{json};
        write_object(writer, [&](ObjectWriter& members) {
            members.string("id", line.id);
            members.number("number", line.number);
            members.string("status", name_of(line.status));
            if (line.completed_at) {
                members.instant("completed_at", *line.completed_at);
            }
            members.string_if("parent", line.parent);
            members.number_unless(1, "executions", line.executions);
            members.number("events", line.events);
            members.number("size", line.size);
        });
        return writer.finish("encode_pack_line");
    });
}

} // namespace

std::optional<PackLine> decode_pack_line(std::string_view json) {
    JsonReader in{json};
    PackLine line{.executions = 1};
    in.object([&](const JsonName& name) {
        if (name.text == "id") {
            in.string(line.id);
        } else if (name.text == "number") {
            in.number(line.number);
        } else if (name.text == "status") {
            const auto status = in.name();
            const auto parsed = parse_execution_status(status.text);
            if (!parsed) {
                in.fail_at(status.offset, "unknown status");
            }
            line.status = parsed.value_or(ExecutionStatus::completed);
        } else if (name.text == "completed_at") {
            line.completed_at = read_instant(in);
        } else if (name.text == "parent") {
            read_string(in, line.parent);
        } else if (name.text == "executions") {
            in.number(line.executions);
        } else if (name.text == "events") {
            in.number(line.events);
        } else if (name.text == "size") {
            in.number(line.size);
        } else {
            unknown_member(in, name);
        }
    });
    in.finish();
    return in.failed() ? std::nullopt : std::optional{std::move(line)};
}

PackLine line_of(const ledger::InstanceImage& image, std::uint64_t size) {
    PackLine line{.id = image.id, .size = size};
    if (image.row) {
        line.number = image.row->number;
        line.parent = image.row->parent;
    }
    for (const auto& execution : image.executions) {
        line.executions += execution.recorded ? 1U : 0U;
        line.events += execution.history.size();
        if (image.row && execution.id == image.row->current_execution) {
            line.status = execution.status;
            line.completed_at = execution.completed_at;
        }
    }
    return line;
}

// ---- What a checkpoint says

bool is_pack_record(std::string_view json) noexcept {
    return json.starts_with("{\"pack\":");
}

void encode_pack_record(std::string& out, const PackRecord& record) {
    JsonWriter writer{out};
    write_object(writer, [&](ObjectWriter& members) {
        members.number("pack", record.number);
        members.number("instances", record.instances);
        members.number("index_at", record.index_at);
        members.number("bytes", record.bytes);
        members.numbers_if_any("dead", record.dead);
    });
    (void)writer.finish("encode_pack_record"); // numbers cannot fail
}

std::string pack_frames(const std::vector<PackRecord>& records) {
    std::string frames;
    for (const auto& record : records) {
        std::string json;
        encode_pack_record(json, record);
        frames += frame_of(json);
    }
    return frames;
}

Result<PackRecord> decode_pack_record(std::string_view json) {
    JsonReader in{json};
    PackRecord record;
    in.object([&](const JsonName& name) {
        if (name.text == "pack") {
            in.number(record.number);
        } else if (name.text == "instances") {
            in.number(record.instances);
        } else if (name.text == "index_at") {
            in.number(record.index_at);
        } else if (name.text == "bytes") {
            in.number(record.bytes);
        } else if (name.text == "dead") {
            read_numbers(in, record.dead);
        } else {
            unknown_member(in, name);
        }
    });
    in.finish();
    if (in.failed()) {
        return in.error("decode_pack_record");
    }
    if (record.number == 0 || record.number > UINT32_MAX || record.instances > UINT32_MAX ||
        record.index_at > record.bytes || !std::ranges::is_sorted(record.dead) ||
        (!record.dead.empty() && record.dead.back() >= record.instances)) {
        return fail(ErrorCode::corrupt, "this is no pack");
    }
    return record;
}

std::string pack_path(const std::string& directory, std::uint64_t number) {
    return directory + "/" + padded_number(number) + std::string{suffix};
}

std::uint64_t pack_number(std::string_view name) noexcept {
    return file_number(name, suffix);
}

// ---- Writing

PackWriter::PackWriter(Files& files, std::string directory, std::uint64_t number)
    : files_{&files},
      directory_{std::move(directory)},
      number_{number},
      temporary_{pack_path(directory_, number) + ".tmp.1"} {}

PackWriter::~PackWriter() {
    if (file_) {
        file_.reset();
        (void)files_->remove(temporary_); // otherwise the next open removes it
    }
}

Result<PackWriter>
PackWriter::begin(Files& files, const std::string& directory, std::uint64_t number) {
    PackWriter writer{files, directory, number};
    DURABLE_TRY_ASSIGN(auto file, SteadyWriter::open(files, writer.temporary_));
    writer.file_ = std::make_unique<SteadyWriter>(std::move(file));
    DURABLE_TRY(writer.file_->write(header_of(number)));
    return writer;
}

Result<> PackWriter::add(std::string_view frames, std::vector<PackLine> lines) {
    DURABLE_TRY(file_->write(frames));
    lines_.insert(
        lines_.end(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
    return {};
}

Result<PackRecord> PackWriter::finish() {
    constexpr std::size_t piece = 1U << 16U;
    const auto index_at = file_->bytes();
    std::string frames;
    for (const auto& line : lines_) {
        DURABLE_TRY(append_line(frames, line));
        if (frames.size() >= piece) {
            DURABLE_TRY(file_->write(frames));
            frames.clear();
        }
    }
    DURABLE_TRY(file_->write(frames));
    DURABLE_TRY(file_->sync());
    bytes_ = file_->bytes();
    DURABLE_TRY(to_result(files_->rename(temporary_, pack_path(directory_, number_))));
    file_.reset(); // from here on there is no temporary file to remove
    DURABLE_TRY(to_result(files_->sync_directory(directory_)));
    return PackRecord{.number = number_,
                      .instances = lines_.size(),
                      .index_at = index_at,
                      .bytes = bytes_,
                      .dead = {}};
}

// ---- Reading

std::uint64_t number_said_by_pack(std::string_view content) {
    std::uint64_t number = 0;
    if (const auto json = read_frame(content); json && is_pack_record(*json)) {
        JsonReader in{*json};
        in.object([&](const JsonName& name) {
            if (name.text == "number") {
                in.number(number);
            } else {
                (void)in.skip();
            }
        });
        in.finish();
        return in.failed() ? 0 : number;
    }
    return number;
}

std::uint64_t first_frame_at(std::uint64_t number) {
    return header_of(number).size();
}

Result<std::vector<PackLine>>
read_pack_index(Files& files, const std::string& directory, const PackRecord& record) {
    const auto path = pack_path(directory, record.number);
    if (const auto there = files.open(path, OpenMode::read);
        !there && there.error().code == std::errc::no_such_file_or_directory) {
        return fail(ErrorCode::corrupt, path + " is missing: the checkpoint names it");
    }
    DURABLE_TRY_ASSIGN(auto file, FrameFile::open(files, path));
    file.seek(record.index_at);
    std::vector<PackLine> lines;
    auto at = first_frame_at(record.number);
    while (true) {
        DURABLE_TRY_ASSIGN(const auto json, file.next());
        if (!json) {
            break;
        }
        auto line = decode_pack_line(*json);
        if (!line) {
            return file.damaged("this is no line of a pack's index");
        }
        at += line->size;
        lines.push_back(*std::move(line));
    }
    if (lines.size() != record.instances || at != record.index_at || file.end() != record.bytes) {
        return fail(ErrorCode::corrupt,
                    path + " is not the pack that the checkpoint names: it has " +
                        std::to_string(lines.size()) + " instances in " +
                        std::to_string(file.end()) + " bytes, not " +
                        std::to_string(record.instances) + " in " + std::to_string(record.bytes));
    }
    return lines;
}

Result<> check_pack(Files& files, const std::string& directory, const PackRecord& record) {
    DURABLE_TRY_ASSIGN(const auto lines, read_pack_index(files, directory, record));
    DURABLE_TRY_ASSIGN(auto file, FrameFile::open(files, pack_path(directory, record.number)));
    DURABLE_TRY_ASSIGN(const auto header, file.next());
    if (!header || *header != *read_frame(header_of(record.number))) {
        return file.damaged("this is not pack " + std::to_string(record.number));
    }
    for (const auto& line : lines) {
        DURABLE_TRY_ASSIGN(const auto json, file.next());
        if (!json) {
            return file.damaged("the pack ends too early");
        }
        const auto image = decode_image(*json);
        if (!image) {
            return file.damaged(image.error().message);
        }
        if (line_of(*image, json->size() + frame_overhead) != line) {
            return file.damaged("the index of the pack says something else about \"" + line.id +
                                "\"");
        }
    }
    return {};
}

Result<std::string> read_pack_frame(Files& files,
                                    const std::string& directory,
                                    std::uint64_t number,
                                    std::uint64_t at,
                                    std::uint64_t size) {
    const auto path = pack_path(directory, number);
    DURABLE_TRY_ASSIGN(const auto file, to_result(files.open(path, OpenMode::read)));
    std::string frame(size, '\0');
    DURABLE_TRY_ASSIGN(const auto got, to_result(read_at(*file, std::span{frame}, at)));
    if (got != size || !read_frame(frame)) {
        return fail(ErrorCode::corrupt,
                    path + ", byte " + std::to_string(at) + ": the frame is damaged or cut off");
    }
    return frame;
}

Result<> require_source_of_packs(Files& files, const std::string& packs, Lsn checkpoint, Lsn last) {
    if (checkpoint != 0 || last != 0) {
        return {};
    }
    const auto entries = files.list(packs);
    if (!entries) {
        return entries.error().code == std::errc::no_such_file_or_directory
                   ? Result<>{}
                   : std::unexpected{to_error(entries.error())};
    }
    const auto pack = std::ranges::find_if(
        *entries, [](const DirectoryEntry& entry) { return pack_number(entry.name) != 0; });
    if (pack != entries->end()) {
        return fail(ErrorCode::corrupt,
                    packs + "/" + pack->name +
                        " is there, but neither a checkpoint nor any record of the journal");
    }
    return {};
}

} // namespace durable::fs
