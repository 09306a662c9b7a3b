// Durable commits per second: the journal beside the simplest group commit that could be written,
// with the same bytes, callers and disk, and the disk's own fdatasync in the same run.
//
//     journal_benchmark [directory] [callers] [seconds]

#include "base/files.hpp"
#include "providers/fs/journal/journal.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using durable::File;
using durable::Files;
using durable::OpenMode;

const std::string payload = "\"text\":\"" + std::string(300, 'x') + "\"";

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Median time of one small write and its fdatasync, in microseconds.
double fdatasync_us(Files& files, const std::string& directory) {
    const auto path = directory + "/probe";
    const auto file = files.open(path, OpenMode::create).value();
    file->allocate(1 << 20).value();
    file->sync().value();
    std::vector<double> times;
    for (std::uint64_t i = 0; i < 500; ++i) {
        const auto start = Clock::now();
        write_at(*file, payload, i * payload.size()).value();
        file->sync().value();
        times.push_back(seconds_since(start) * 1e6);
    }
    files.remove(path).value();
    std::ranges::nth_element(times, times.begin() + 250);
    return times[250];
}

// One buffer, one thread that writes and syncs it; each sync wakes all callers.
class BareLog {
 public:
    explicit BareLog(std::unique_ptr<File> file) : file_{std::move(file)} {}

    void commit(const std::string& record) {
        std::unique_lock lock{mutex_};
        buffer_ += record;
        const auto mine = ++appended_;
        work_.notify_one();
        done_.wait(lock, [&] { return durable_ >= mine; });
    }

 private:
    void run(const std::stop_token& stop) {
        std::unique_lock lock{mutex_};
        while (work_.wait(lock, stop, [&] { return !buffer_.empty(); })) {
            std::string batch;
            batch.swap(buffer_);
            const auto upto = appended_;
            lock.unlock();
            write_at(*file_, batch, offset_).value();
            offset_ += batch.size();
            file_->sync().value();
            lock.lock();
            durable_ = upto;
            done_.notify_all();
        }
    }

    std::unique_ptr<File> file_;
    std::uint64_t offset_ = 0;
    std::mutex mutex_;
    std::condition_variable_any work_;
    std::condition_variable done_;
    std::string buffer_;
    std::uint64_t appended_ = 0;
    std::uint64_t durable_ = 0;
    std::jthread writer_{[this](const std::stop_token& stop) { run(stop); }};
};

double rate(unsigned callers, double seconds, const std::function<void()>& commit) {
    std::atomic<std::uint64_t> commits{0};
    const auto start = Clock::now();
    {
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < callers; ++i) {
            threads.emplace_back([&] {
                while (seconds_since(start) < seconds) {
                    commit();
                    commits.fetch_add(1, std::memory_order_relaxed);
                }
            });
        }
    }
    return static_cast<double>(commits.load()) / seconds_since(start);
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments{argv + 1, argv + argc};
    const auto directory = arguments.empty() ? std::string{"journal-benchmark"} : arguments[0];
    const unsigned callers =
        arguments.size() > 1 ? static_cast<unsigned>(std::stoul(arguments[1])) : 64;
    const double seconds = arguments.size() > 2 ? std::stod(arguments[2]) : 3;
    auto& files = durable::system_files();
    remove_tree(files, directory).value();
    make_directories(files, directory).value();

    std::printf("fdatasync: %.0f us\n", fdatasync_us(files, directory));
    double bare = 0;
    {
        auto file = files.open(directory + "/bare", OpenMode::create).value();
        file->allocate(1U << 30U).value();
        file->sync().value();
        BareLog log{std::move(file)};
        const std::string record = std::string(18 + 16, ' ') + payload + "\n";
        bare = rate(callers, seconds, [&] { log.commit(record); });
        std::printf("bare loop: %.0f commits/s, %u callers\n", bare, callers);
    }
    files.remove(directory + "/bare").value();
    {
        make_directories(files, directory + "/journal").value();
        durable::fs::Journal journal{files, directory + "/journal", {}, {}};
        const std::jthread spares{[&](const std::stop_token& stop) {
            std::mutex mutex;
            std::condition_variable_any wake;
            std::unique_lock lock{mutex};
            while (!wake.wait_for(lock, stop, 1ms, [&] { return stop.stop_requested(); })) {
                journal.prepare_spare().value();
            }
        }};
        const double ours = rate(callers, seconds, [&] {
            const auto lsn = journal.append([](std::string& out) -> durable::Result<> {
                out += payload;
                return {};
            });
            journal.ensure_durable(lsn.value()).value();
        });
        const auto counters = journal.counters();
        std::printf("journal:   %.0f commits/s, %.2f of the bare loop, %.1f commits per sync\n",
                    ours,
                    ours / bare,
                    static_cast<double>(journal.last()) / static_cast<double>(counters.syncs));
    }
    remove_tree(files, directory).value();
    return 0;
}
