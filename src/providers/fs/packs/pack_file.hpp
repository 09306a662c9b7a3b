// Packs: finished instances, many to a file, so that memory holds live work only.
//
//   packs/0000000007.pack
//     frame {"pack":1,"number":7}
//     one frame per instance, see image_codec.hpp
//     one frame per instance, in the same order: the index, {"id":…,"number":…, … }
//
// A pack is written once and never changed. It is part of the store when a checkpoint names it
// (PackRecord); opening the store removes packs that no checkpoint names.

#pragma once

#include "base/files.hpp"
#include "providers/fs/files/steady_writer.hpp"
#include "providers/fs/journal/journal_reader.hpp"
#include "providers/ledger/image.hpp"

#include <durable/provider.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::fs {

// What the index says about one instance: enough to list and to select.
struct PackLine {
    std::string id;
    std::uint64_t number = 0; // in order of creation
    ExecutionStatus status = ExecutionStatus::completed;
    std::optional<Instant> completed_at;
    std::optional<std::string> parent;
    std::uint64_t executions = 0;
    std::uint64_t events = 0;
    std::uint64_t size = 0; // of its frame
    bool operator==(const PackLine&) const = default;
};

[[nodiscard]] PackLine line_of(const ledger::InstanceImage& image, std::uint64_t size);

// What a checkpoint says about a pack.
struct PackRecord {
    std::uint64_t number = 0;
    std::uint64_t instances = 0;
    std::uint64_t index_at = 0;      // where the index begins
    std::uint64_t bytes = 0;         // of the file
    std::vector<std::uint64_t> dead; // lines of instances that have changed since, ascending
    bool operator==(const PackRecord&) const = default;
};

void encode_pack_record(std::string& out, const PackRecord& record);
[[nodiscard]] Result<PackRecord> decode_pack_record(std::string_view json);
[[nodiscard]] bool is_pack_record(std::string_view json) noexcept;
// The frames of a checkpoint that name these packs.
[[nodiscard]] std::string pack_frames(const std::vector<PackRecord>& records);

[[nodiscard]] std::string pack_path(const std::string& directory, std::uint64_t number);
[[nodiscard]] std::uint64_t pack_number(std::string_view name) noexcept; // 0: not a pack

class PackWriter {
 public:
    [[nodiscard]] static Result<PackWriter>
    begin(Files& files, const std::string& directory, std::uint64_t number);
    PackWriter(PackWriter&&) = default;
    PackWriter& operator=(PackWriter&&) = delete;
    ~PackWriter(); // removes the file unless finished

    [[nodiscard]] std::uint64_t bytes() const noexcept { return file_ ? file_->bytes() : bytes_; }
    [[nodiscard]] std::uint64_t first_at() const noexcept { return first_at_; }
    [[nodiscard]] const std::vector<PackLine>& lines() const noexcept { return lines_; }

    // Whole frames and what the index says about them.
    [[nodiscard]] Result<> add(std::string_view frames, std::vector<PackLine> lines);
    // Durable under its name on return.
    [[nodiscard]] Result<PackRecord> finish();

 private:
    PackWriter(Files& files, std::string directory, std::uint64_t number);

    Files* files_;
    std::string directory_;
    std::uint64_t number_;
    std::string temporary_;
    std::unique_ptr<SteadyWriter> file_; // nullptr: finished, or moved away
    std::uint64_t bytes_ = 0;            // when finished
    std::uint64_t first_at_ = 0;
    std::vector<PackLine> lines_;
};

// The index of a pack.
//   corrupt  the file is missing or not what the record says; the message names file and offset
[[nodiscard]] Result<std::vector<PackLine>>
read_pack_index(Files& files, const std::string& directory, const PackRecord& record);

// Reads all of a pack, line by line.
//   corrupt  something in it is damaged, or the index says something else
[[nodiscard]] Result<>
check_pack(Files& files, const std::string& directory, const PackRecord& record);

// One line of an index; nullopt: it is not one.
[[nodiscard]] std::optional<PackLine> decode_pack_line(std::string_view json);

// The frame of one instance, checked.
[[nodiscard]] Result<std::string> read_pack_frame(Files& files,
                                                  const std::string& directory,
                                                  std::uint64_t number,
                                                  std::uint64_t at,
                                                  std::uint64_t size);

// The number in the first line of a pack, whatever its file name; 0: the line is damaged.
[[nodiscard]] std::uint64_t number_said_by_pack(std::string_view content);

// Where the first instance's frame begins.
[[nodiscard]] std::uint64_t first_frame_at(std::uint64_t number);

// Packs are made from records: without a checkpoint the journal must have all records from the
// first on.
//   corrupt  there are packs, and neither a checkpoint nor records
[[nodiscard]] Result<>
require_source_of_packs(Files& files, const std::string& packs, Lsn checkpoint, Lsn last);

} // namespace durable::fs
