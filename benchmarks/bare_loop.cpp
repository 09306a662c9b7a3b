#include "bare_loop.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

namespace durable::bare {

namespace {

using Steady = std::chrono::steady_clock;

struct Closer {
    void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Closer>;
using Statement = std::unique_ptr<sqlite3_stmt, Closer>;

void must(sqlite3* db, bool good) {
    if (!good) {
        throw std::runtime_error{sqlite3_errmsg(db)};
    }
}

Database open(const std::string& file) {
    sqlite3* db = nullptr;
    const auto code = sqlite3_open(file.c_str(), &db);
    Database opened{db};
    must(db, code == SQLITE_OK);
    must(db, sqlite3_busy_timeout(db, 60'000) == SQLITE_OK);
    must(db,
         sqlite3_exec(db,
                      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
                      nullptr,
                      nullptr,
                      nullptr) == SQLITE_OK);
    return opened;
}

Statement prepare(sqlite3* db, const char* sql) {
    sqlite3_stmt* made = nullptr;
    must(db,
         sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr) == SQLITE_OK);
    return Statement{made};
}

// The first column of the first row; 0 without rows.
std::int64_t run(sqlite3* db, const Statement& statement) {
    std::int64_t found = 0;
    if (sqlite3_step(statement.get()) == SQLITE_ROW) {
        found = sqlite3_column_int64(statement.get(), 0);
    }
    must(db, sqlite3_reset(statement.get()) == SQLITE_OK);
    return found;
}

// For the instance of that number. How many it made.
std::uint64_t queue_messages(const std::string& file, std::size_t number, Steady::time_point end) {
    const auto database = open(file);
    auto* db = database.get();
    const auto id = "i" + std::to_string(number);
    const auto begin = prepare(db, "BEGIN IMMEDIATE");
    const auto next = prepare(db, "SELECT next_seq FROM store WHERE id = 1");
    const auto find = prepare(db, "SELECT id FROM instances WHERE instance_id = ?1");
    const auto insert = prepare(db,
                                "INSERT INTO messages (seq, instance, state, visible_at, kind,"
                                " item) VALUES (?1, ?2, 1, ?1, 4, ?3)");
    const auto save = prepare(db, "UPDATE store SET next_seq = ?1 WHERE id = 1");
    const auto commit = prepare(db, "COMMIT");
    constexpr std::string_view item =
        R"({"ExternalRaised":{"instance":"i00","name":"go","data":"1"}})";
    sqlite3_bind_text(find.get(), 1, id.data(), static_cast<int>(id.size()), SQLITE_STATIC);
    std::uint64_t made = 0;
    while (Steady::now() < end) {
        run(db, begin);
        const auto seq = run(db, next);
        sqlite3_bind_int64(insert.get(), 1, seq);
        const auto instance = run(db, find);
        if (instance == 0) {
            throw std::runtime_error{"there is no instance " + id};
        }
        sqlite3_bind_int64(insert.get(), 2, instance);
        sqlite3_bind_text(
            insert.get(), 3, item.data(), static_cast<int>(item.size()), SQLITE_STATIC);
        run(db, insert);
        sqlite3_bind_int64(save.get(), 1, seq + 1);
        run(db, save);
        run(db, commit);
        ++made;
    }
    return made;
}

} // namespace

double
messages_per_second(const std::string& file, std::size_t callers, std::chrono::seconds time) {
    std::atomic<std::uint64_t> made = 0;
    const auto begin = Steady::now();
    {
        std::vector<std::jthread> threads;
        for (std::size_t caller = 0; caller < callers; ++caller) {
            threads.emplace_back(
                [&, caller] { made += queue_messages(file, caller, begin + time); });
        }
    }
    return static_cast<double>(made) / std::chrono::duration<double>(Steady::now() - begin).count();
}

double fdatasync_us(const std::string& file) {
    constexpr std::size_t pages = 256;
    static constexpr std::array<char, 4096> page{};
    const int descriptor = ::open(file.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        throw std::runtime_error{"cannot open " + file};
    }
    std::vector<double> times;
    auto good = true;
    for (std::size_t number = 0; good && number < 2 * pages; ++number) {
        const auto at = static_cast<off_t>(number % pages * page.size());
        good =
            ::pwrite(descriptor, page.data(), page.size(), at) == static_cast<ssize_t>(page.size());
        const auto begin = Steady::now();
        if (number == pages - 1) {
            good = good && ::fsync(descriptor) == 0; // its length does not change from now on
        } else if (number >= pages) {
            good = good && ::fdatasync(descriptor) == 0;
            times.push_back(
                std::chrono::duration<double, std::micro>(Steady::now() - begin).count());
        }
    }
    ::close(descriptor);
    ::unlink(file.c_str());
    if (!good) {
        throw std::runtime_error{"cannot write " + file};
    }
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
}

} // namespace durable::bare
