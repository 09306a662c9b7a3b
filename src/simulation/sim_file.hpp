// An open file or directory of the simulated disk.

#pragma once

#include "base/files.hpp"
#include "simulation/sim_files.hpp"
#include "simulation/sim_inode.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace durable::simulation {

class SimFile final : public File {
 public:
    SimFile(SimFiles& disk,
            std::shared_ptr<SimInode> inode,
            std::string path,
            bool writable,
            std::uint64_t boot)
        : disk_{disk},
          inode_{std::move(inode)},
          path_{std::move(path)},
          writable_{writable},
          boot_{boot} {}
    ~SimFile() override;

    FileResult<std::size_t> read_some_at(std::span<char> into, std::uint64_t offset) override;
    FileResult<std::size_t> write_some_at(std::string_view bytes, std::uint64_t offset) override;
    FileResult<> sync() override;
    FileResult<std::uint64_t> size() override;
    FileResult<> truncate(std::uint64_t size) override;
    FileResult<> allocate(std::uint64_t size) override;
    FileResult<bool> try_lock() override;

 private:
    // For a call that changes nothing, the verdict is `go` or an error.
    FileResult<SimFiles::Verdict> admit(std::string_view call, bool changes)
        DURABLE_REQUIRES(disk_.mutex_);
    FileResult<> resize(std::uint64_t size, bool may_shrink, std::string_view call);

    SimFiles& disk_;
    const std::shared_ptr<SimInode> inode_;
    const std::string path_;
    const bool writable_;
    const std::uint64_t boot_;
    bool holds_lock_ = false;
};

class SimDirectory final : public Directory {
 public:
    SimDirectory(SimFiles& disk,
                 std::shared_ptr<SimInode> inode,
                 std::string path,
                 std::uint64_t boot)
        : disk_{disk}, inode_{std::move(inode)}, path_{std::move(path)}, boot_{boot} {}
    ~SimDirectory() override;

    FileResult<bool> try_lock() override;
    FileResult<bool> still_there() override;

 private:
    FileResult<> admit(std::string_view call) DURABLE_REQUIRES(disk_.mutex_);

    SimFiles& disk_;
    const std::shared_ptr<SimInode> inode_;
    const std::string path_;
    const std::uint64_t boot_;
    bool holds_lock_ = false;
};

} // namespace durable::simulation
