#include "providers/fs/checkpoint/checkpoint.hpp"

#include "base/try.hpp"
#include "model/json_reader.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/format/frame.hpp"
#include "providers/fs/format/frame_file.hpp"
#include "providers/fs/format/image_codec.hpp"
#include "providers/fs/journal/segments.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace durable::fs {

namespace {

constexpr std::string_view suffix = ".ckpt";
constexpr std::uint64_t checkpoint_version = 1;

// The number members of a flat object; others are skipped.
struct Numbers {
    std::optional<std::uint64_t> checkpoint;
    std::optional<std::uint64_t> lsn;
    std::optional<std::uint64_t> instances;
    std::optional<std::uint64_t> packs;
    bool journal = false;
    bool end = false;
};

Numbers numbers_of(std::string_view json) {
    Numbers found;
    wire::JsonReader in{json};
    const auto number = [&](std::optional<std::uint64_t>& into) { in.number(into.emplace()); };
    in.object([&](const wire::JsonName& member) {
        if (member.text == "checkpoint") {
            number(found.checkpoint);
        } else if (member.text == "lsn") {
            number(found.lsn);
        } else if (member.text == "instances") {
            number(found.instances);
        } else if (member.text == "packs") {
            number(found.packs);
        } else if (member.text == "journal") {
            in.boolean(found.journal);
        } else {
            found.end = found.end || member.text == "end";
            (void)in.skip();
        }
    });
    in.finish();
    return in.failed() ? Numbers{} : found;
}

bool is_end(std::string_view json) {
    return json.starts_with("{\"end\":");
}

Result<std::string_view> need(FrameFile& file) {
    DURABLE_TRY_ASSIGN(const auto json, file.next());
    if (!json) {
        return file.damaged("the checkpoint ends too early");
    }
    return *json;
}

} // namespace

std::string checkpoint_path(const std::string& directory, Lsn lsn) {
    return directory + "/" + padded_number(lsn) + std::string{suffix};
}

// ---- Writing

CheckpointWriter::CheckpointWriter(Files& files, std::string directory, Lsn lsn)
    : files_{&files},
      directory_{std::move(directory)},
      lsn_{lsn},
      temporary_{checkpoint_path(directory_, lsn) + ".tmp.1"} {}

CheckpointWriter::~CheckpointWriter() {
    if (file_) {
        file_.reset();
        (void)files_->remove(temporary_); // otherwise the next open removes it
    }
}

Result<CheckpointWriter>
CheckpointWriter::begin(Files& files, const std::string& directory, Lsn lsn, bool in_journal) {
    CheckpointWriter writer{files, directory, lsn};
    DURABLE_TRY_ASSIGN(auto file, SteadyWriter::open(files, writer.temporary_));
    writer.file_ = std::make_unique<SteadyWriter>(std::move(file));
    DURABLE_TRY(writer.write(frame_of("{\"checkpoint\":" + std::to_string(checkpoint_version) +
                                      ",\"lsn\":" + std::to_string(lsn) +
                                      (in_journal ? ",\"journal\":true}" : "}"))));
    return writer;
}

Result<> CheckpointWriter::write(std::string_view frames) {
    return file_->write(frames);
}

Result<> CheckpointWriter::finish(std::uint64_t instances, std::uint64_t packs) {
    DURABLE_TRY(write(frame_of("{\"end\":true,\"instances\":" + std::to_string(instances) +
                               ",\"packs\":" + std::to_string(packs) + "}")));
    DURABLE_TRY(file_->sync());
    bytes_ = file_->bytes();
    DURABLE_TRY(to_result(files_->rename(temporary_, checkpoint_path(directory_, lsn_))));
    file_.reset(); // from here on there is no temporary file to remove
    DURABLE_TRY(to_result(files_->sync_directory(directory_)));
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files_->list(directory_)));
    for (const auto& entry : entries) {
        const auto number = file_number(entry.name, suffix);
        if (number != 0 && number < lsn_) {
            DURABLE_TRY(to_result(remove_gradually(*files_, directory_ + "/" + entry.name)));
        }
    }
    return {};
}

// ---- Reading

Result<std::vector<CheckpointFile>> list_checkpoints(Files& files, const std::string& directory) {
    const auto entries = files.list(directory);
    if (!entries && entries.error().code == std::errc::no_such_file_or_directory) {
        return std::vector<CheckpointFile>{};
    }
    DURABLE_TRY(to_result(entries));
    std::vector<CheckpointFile> found;
    for (const auto& entry : *entries) {
        if (const auto named = file_number(entry.name, suffix); named != 0) {
            found.push_back(
                {.path = directory + "/" + entry.name, .named = named, .said = std::nullopt});
        }
    }
    std::ranges::sort(found, std::greater{}, &CheckpointFile::named);
    for (auto& checkpoint : found) {
        // Ignores errors: reading the content will report them.
        auto file = FrameFile::open(files, checkpoint.path);
        const auto first = file ? file->next() : std::unexpected{file.error()};
        const auto header = first && *first ? numbers_of(**first) : Numbers{};
        checkpoint.said = header.checkpoint ? header.lsn : std::nullopt;
    }
    return found;
}

Result<CheckpointFound> read_checkpoint_file(Files& files,
                                             const std::string& path,
                                             Lsn lsn,
                                             const CheckpointContent& content) {
    DURABLE_TRY_ASSIGN(auto file, FrameFile::open(files, path));
    DURABLE_TRY_ASSIGN(auto json, need(file));
    const auto header = numbers_of(json);
    if (header.checkpoint.value_or(0) > checkpoint_version) {
        return fail(ErrorCode::unsupported, path + " was written by a newer version");
    }
    if (!header.checkpoint || header.lsn != lsn) {
        return file.damaged("this is not the checkpoint of record " + std::to_string(lsn));
    }
    DURABLE_TRY_ASSIGN(json, need(file));
    auto rest = decode_rest(json);
    if (!rest) {
        return file.damaged(rest.error().message);
    }
    DURABLE_TRY(content.rest(*std::move(rest)));
    std::uint64_t instances = 0;
    std::uint64_t packs = 0;
    while (true) {
        DURABLE_TRY_ASSIGN(json, need(file));
        if (is_end(json)) {
            break;
        }
        if (is_pack_record(json)) {
            auto record = decode_pack_record(json);
            if (!record) {
                return file.damaged(record.error().message);
            }
            ++packs;
            if (content.pack) {
                DURABLE_TRY(content.pack(*std::move(record)));
            }
            continue;
        }
        auto image = decode_image(json);
        if (!image) {
            return file.damaged(image.error().message);
        }
        DURABLE_TRY(content.instance(*std::move(image)));
        ++instances;
    }
    const auto end = numbers_of(json);
    if (end.instances != instances) {
        return file.damaged("the checkpoint has " + std::to_string(instances) + " instances");
    }
    if (end.packs.value_or(packs) != packs) {
        return file.damaged("the checkpoint names " + std::to_string(packs) + " packs");
    }
    DURABLE_TRY_ASSIGN(const auto more, file.next());
    if (more) {
        return file.damaged("the checkpoint goes on behind its end");
    }
    return CheckpointFound{.lsn = lsn, .bytes = file.end(), .in_journal = header.journal};
}

} // namespace durable::fs
