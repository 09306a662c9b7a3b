// Checkpoints: the whole state after some record, in one file, so that the records up to it need
// not be kept.
//
//   checkpoint/0000004711.ckpt     named after the record
//     frame {"checkpoint":1,"lsn":4711,"journal":true}; `journal`: it has record 4711, for good
//     frame of what belongs to no instance, one frame per pack, see pack_file.hpp, then one frame
//     per instance that is in no pack, see image_codec.hpp
//     frame {"end":true,"instances":12,"packs":3}
//
// A file gets this name when all of it is durable: one that cannot be read is damaged.

#pragma once

#include "base/files.hpp"
#include "providers/fs/files/steady_writer.hpp"
#include "providers/fs/journal/journal_reader.hpp"
#include "providers/fs/packs/pack_file.hpp"
#include "providers/ledger/image.hpp"

#include <durable/result.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::fs {

[[nodiscard]] std::string checkpoint_path(const std::string& directory, Lsn lsn);

class CheckpointWriter {
 public:
    [[nodiscard]] static Result<CheckpointWriter>
    begin(Files& files, const std::string& directory, Lsn lsn, bool in_journal);
    CheckpointWriter(CheckpointWriter&&) = default;
    CheckpointWriter& operator=(CheckpointWriter&&) = delete;
    ~CheckpointWriter(); // removes the file unless finished

    [[nodiscard]] Lsn lsn() const noexcept { return lsn_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return file_ ? file_->bytes() : bytes_; }

    // The frames of a Snapshot, in order.
    [[nodiscard]] Result<> write(std::string_view frames);
    // Durable under its name on return; removes earlier ones.
    [[nodiscard]] Result<> finish(std::uint64_t instances, std::uint64_t packs);

 private:
    CheckpointWriter(Files& files, std::string directory, Lsn lsn);

    Files* files_;
    std::string directory_;
    Lsn lsn_;
    std::string temporary_;
    std::unique_ptr<SteadyWriter> file_; // nullptr: finished, or moved away
    std::uint64_t bytes_ = 0;            // when finished
};

// Receives the content of a checkpoint piece by piece.
struct CheckpointContent {
    std::function<Result<>(ledger::RestImage)> rest; // first
    std::function<Result<>(PackRecord)> pack;        // may be empty
    std::function<Result<>(ledger::InstanceImage)> instance;
};

// A file with the name of a checkpoint.
struct CheckpointFile {
    std::string path;
    Lsn named = 0;
    std::optional<Lsn> said; // in its first line, if that is whole

    // The first line counts more than the name.
    [[nodiscard]] Lsn lsn() const noexcept { return said.value_or(named); }
};

// The highest name first; empty where there is no such directory. Changes nothing.
[[nodiscard]] Result<std::vector<CheckpointFile>> list_checkpoints(Files& files,
                                                                   const std::string& directory);

struct CheckpointFound {
    Lsn lsn = 0; // 0: there is none
    std::uint64_t bytes = 0;
    bool in_journal = false; // the journal must have that record, or the next one
};

// This file, which has to be the checkpoint of that record. Changes nothing.
//   corrupt  it is damaged, or not that checkpoint; the message names file and offset
[[nodiscard]] Result<CheckpointFound> read_checkpoint_file(Files& files,
                                                           const std::string& path,
                                                           Lsn lsn,
                                                           const CheckpointContent& content);

} // namespace durable::fs
