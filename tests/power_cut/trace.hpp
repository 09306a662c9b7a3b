// Trace: reads a recorded trace of file operations.

#pragma once

#include "power_cut/trace_format.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace durable::power_cut {

struct TraceRecord {
    Call call{};
    int fd = -1;
    int process = 0;
    int thread = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::int64_t flags = 0;
    std::string_view path{}; // from the recorded directory, which is "/"
    std::string_view other{};
    std::string_view bytes{};
};

// "write 4096 bytes at 512, descriptor 7". Paths and notes are shown, bytes are not.
[[nodiscard]] std::string describe(const TraceRecord& record);

// The file, in memory as long as the object exists.
class Trace {
 public:
    explicit Trace(const std::string& path); // throws std::runtime_error
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;
    ~Trace();

    [[nodiscard]] const std::vector<TraceRecord>& records() const noexcept { return records_; }

 private:
    void* memory_ = nullptr;
    std::size_t size_ = 0;
    std::vector<TraceRecord> records_;
};

} // namespace durable::power_cut
