#include "simulation/sim_file.hpp"

#include <algorithm>
#include <cstddef>

namespace durable::simulation {

SimFile::~SimFile() {
    const MutexLock lock{disk_.mutex_};
    if (holds_lock_ && boot_ == disk_.boot_) {
        inode_->locked = false;
    }
}

FileResult<std::size_t> SimFile::read_some_at(std::span<char> into, std::uint64_t offset) {
    const MutexLock lock{disk_.mutex_};
    if (auto verdict = admit("read", false); !verdict) {
        return std::unexpected{verdict.error()};
    }
    const auto& content = inode_->content;
    if (offset >= content.size()) {
        return 0;
    }
    const auto length = std::min<std::size_t>(into.size(), content.size() - offset);
    std::ranges::copy_n(content.begin() + static_cast<std::ptrdiff_t>(offset),
                        static_cast<std::ptrdiff_t>(length),
                        into.begin());
    return length;
}

FileResult<std::size_t> SimFile::write_some_at(std::string_view bytes, std::uint64_t offset) {
    const MutexLock lock{disk_.mutex_};
    const auto verdict = admit("write", true);
    if (!verdict) {
        return std::unexpected{verdict.error()};
    }
    if (disk_.refuse_writes_ && *verdict != SimFiles::Verdict::crash) {
        return simulated_error(std::errc::no_space_on_device, "write", path_);
    }
    if (auto space = disk_.require_space(*inode_, offset + bytes.size()); !space) {
        return std::unexpected{space.error()};
    }
    if (*verdict == SimFiles::Verdict::crash) {
        bytes = bytes.substr(0, disk_.random_() % (bytes.size() + 1));
    } else if (bytes.size() > 1 && disk_.chance(disk_.rates_.short_write)) {
        bytes = bytes.substr(0, 1 + disk_.random_() % (bytes.size() - 1));
    }
    inode_->change({.offset = offset, .bytes = std::string{bytes}, .new_size = {}});
    if (*verdict == SimFiles::Verdict::crash) {
        return power_is_off("write", path_);
    }
    return bytes.size();
}

FileResult<> SimFile::sync() {
    const MutexLock lock{disk_.mutex_};
    const auto verdict = disk_.admit("sync", path_, disk_.rates_.sync_error);
    if (boot_ != disk_.boot_) {
        return power_is_off("sync", path_);
    }
    if (!verdict) {
        if (!disk_.crashed_) {
            inode_->make_partly_durable(disk_.random_);
        }
        return std::unexpected{verdict.error()};
    }
    if (*verdict == SimFiles::Verdict::crash) {
        if (disk_.chance(500)) {
            inode_->make_durable();
        }
        return power_is_off("sync", path_);
    }
    ++disk_.syncs_;
    inode_->make_durable();
    return {};
}

FileResult<std::uint64_t> SimFile::size() {
    const MutexLock lock{disk_.mutex_};
    if (auto verdict = admit("stat", false); !verdict) {
        return std::unexpected{verdict.error()};
    }
    return inode_->content.size();
}

FileResult<> SimFile::truncate(std::uint64_t size) {
    return resize(size, true, "truncate");
}

FileResult<> SimFile::allocate(std::uint64_t size) {
    return resize(size, false, "allocate");
}

FileResult<bool> SimFile::try_lock() {
    const MutexLock lock{disk_.mutex_};
    if (auto verdict = admit("lock", false); !verdict) {
        return std::unexpected{verdict.error()};
    }
    if (inode_->locked && !holds_lock_) {
        return false;
    }
    inode_->locked = holds_lock_ = true;
    return true;
}

FileResult<SimFiles::Verdict> SimFile::admit(std::string_view call, bool changes) {
    auto verdict = disk_.admit(call, path_, disk_.rates_.io_error);
    if (boot_ != disk_.boot_ || (verdict && *verdict == SimFiles::Verdict::crash && !changes)) {
        return power_is_off(call, path_);
    }
    if (verdict && changes && !writable_) {
        return simulated_error(std::errc::bad_file_descriptor, call, path_);
    }
    return verdict;
}

FileResult<> SimFile::resize(std::uint64_t size, bool may_shrink, std::string_view call) {
    const MutexLock lock{disk_.mutex_};
    const auto verdict = admit(call, true);
    if (!verdict) {
        return std::unexpected{verdict.error()};
    }
    if (auto space = disk_.require_space(*inode_, size); !space) {
        return space;
    }
    const bool done = *verdict == SimFiles::Verdict::go || disk_.chance(500);
    if (done && (may_shrink || size > inode_->content.size())) {
        inode_->change({.offset = 0, .bytes = {}, .new_size = size});
    }
    return *verdict == SimFiles::Verdict::go ? FileResult<>{} : power_is_off(call, path_);
}

SimDirectory::~SimDirectory() {
    const MutexLock lock{disk_.mutex_};
    if (holds_lock_ && boot_ == disk_.boot_) {
        inode_->locked = false;
    }
}

FileResult<bool> SimDirectory::try_lock() {
    const MutexLock lock{disk_.mutex_};
    if (auto admitted = admit("lock directory"); !admitted) {
        return std::unexpected{std::move(admitted).error()};
    }
    if (inode_->locked && !holds_lock_) {
        return false;
    }
    inode_->locked = holds_lock_ = true;
    return true;
}

FileResult<bool> SimDirectory::still_there() {
    const MutexLock lock{disk_.mutex_};
    if (auto admitted = admit("stat directory"); !admitted) {
        return std::unexpected{std::move(admitted).error()};
    }
    const auto found = disk_.names_.find(path_);
    return found != disk_.names_.end() && found->second == inode_;
}

FileResult<> SimDirectory::admit(std::string_view call) {
    const auto verdict = disk_.admit(call, path_, disk_.rates_.io_error);
    if (!verdict) {
        return std::unexpected{verdict.error()};
    }
    return boot_ == disk_.boot_ && *verdict == SimFiles::Verdict::go ? FileResult<>{}
                                                                     : power_is_off(call, path_);
}

} // namespace durable::simulation
