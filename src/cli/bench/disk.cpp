#include "cli/bench/disk.hpp"

#include "base/files.hpp"
#include "base/process.hpp"
#include "base/stopwatch.hpp"

#include <cstdint>

namespace durable::cli {

namespace {

constexpr std::uint64_t writes = 100;
constexpr std::size_t record_size = 256;

FileResult<> time_syncs(File& file, Latencies& latencies) {
    const std::string record(record_size, 'x');
    auto done = write_at(file, std::string(record_size * writes, '\0'), 0);
    if (done) {
        done = file.sync();
    }
    for (std::uint64_t i = 0; done && i < writes; ++i) {
        const Stopwatch watch;
        done = write_at(file, record, i * record_size);
        if (done) {
            done = file.sync();
        }
        latencies.add(watch.elapsed());
    }
    return done;
}

} // namespace

Result<> DiskProbe::sample() {
    auto& files = system_files();
    const auto path = directory_ + "/bench-" + std::to_string(process_id()) + ".probe";
    FileResult<> done;
    if (const auto file = files.open(path, OpenMode::create)) {
        done = time_syncs(**file, latencies_);
        const auto removed = files.remove(path);
        done = done ? removed : done;
    } else {
        done = std::unexpected{file.error()};
    }
    return done ? Result<>{} : fail(ErrorCode::storage_failed, done.error().text);
}

} // namespace durable::cli
