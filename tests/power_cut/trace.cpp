#include "power_cut/trace.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace durable::power_cut {

namespace {

std::string_view name_of(Call call) {
    switch (call) {
    case Call::open:
        return "open";
    case Call::close:
        return "close";
    case Call::duplicate:
        return "dup";
    case Call::write:
        return "write";
    case Call::zeros:
        return "write zeros";
    case Call::resize:
        return "truncate";
    case Call::allocate:
        return "allocate";
    case Call::sync_begin:
        return "begin of a sync";
    case Call::sync_end:
        return "end of a sync";
    case Call::rename:
        return "rename";
    case Call::link:
        return "link";
    case Call::unlink:
        return "unlink";
    case Call::make_directory:
        return "mkdir";
    case Call::remove_directory:
        return "rmdir";
    case Call::map:
        return "mmap";
    case Call::unknown:
        return "a call that is not known";
    case Call::note:
        return "note";
    }
    return "no record";
}

} // namespace

std::string describe(const TraceRecord& record) {
    std::string text{name_of(record.call)};
    if (!record.path.empty()) {
        text += ' ' + std::string{record.path};
    }
    if (!record.other.empty()) {
        text += " to " + std::string{record.other};
    }
    if (record.call == Call::note) {
        text += " \"" + std::string{record.bytes.substr(0, record.bytes.find('\n'))} + '"';
    }
    if (record.size != 0 || record.call == Call::resize) {
        text += ", " + std::to_string(record.size) + " bytes at " + std::to_string(record.offset);
    }
    if (record.fd >= 0) {
        text += ", descriptor " + std::to_string(record.fd);
    }
    return text + ", thread " + std::to_string(record.thread);
}

Trace::Trace(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status{};
    if (fd < 0 || ::fstat(fd, &status) != 0) {
        throw std::system_error{errno, std::generic_category(), path};
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ > 0) {
        memory_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    ::close(fd);
    if (memory_ == MAP_FAILED) {
        throw std::system_error{errno, std::generic_category(), path};
    }
    std::string_view rest{static_cast<const char*>(memory_), size_};
    const auto take = [&](std::uint64_t length) {
        if (length > rest.size()) {
            throw std::runtime_error{path + ": the last record is cut off"};
        }
        const auto taken = rest.substr(0, length);
        rest.remove_prefix(length);
        return taken;
    };
    while (!rest.empty()) {
        TraceHead head;
        std::memcpy(&head, take(sizeof head).data(), sizeof head);
        auto& record = records_.emplace_back();
        record.call = head.call;
        record.fd = head.fd;
        record.process = head.process;
        record.thread = head.thread;
        record.offset = static_cast<std::uint64_t>(head.offset);
        record.size = static_cast<std::uint64_t>(head.size);
        record.flags = head.flags;
        record.path = take(head.path);
        record.other = take(head.other);
        record.bytes = take(head.bytes);
    }
}

Trace::~Trace() {
    if (memory_ != nullptr) {
        ::munmap(memory_, size_);
    }
}

} // namespace durable::power_cut
