// Connection and Query: SQLite's C interface with RAII and sticky errors. One thread at a time.
//
// An error sticks to its connection: from then on queries find nothing and change nothing, until
// take_error(). So code that uses them need not check each call; its caller asks once at the end
// and drops what that code decided.

#pragma once

#include <durable/result.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

struct sqlite3;
struct sqlite3_file;
struct sqlite3_stmt;

namespace durable::sqlite {

class Connection {
 public:
    struct Options {
        std::string vfs; // empty: the default
        Duration busy_timeout{};
        bool create = false; // the file, if there is none
    };

    [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const std::string& path,
                                                                  const Options& options);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();

    // Runs statements that give no rows, uncached.
    void execute(const char* sql);
    // The same for statements that SQLite does not call its busy handler for: waits while another
    // process locks the file.
    void execute_patiently(const char* sql);

    // From now on a file that another process locks is an error at once.
    void stop_waiting() noexcept { busy_timeout_ = Duration::zero(); }

    [[nodiscard]] bool failed() const noexcept { return error_.has_value(); }
    // The first error since the last call.
    [[nodiscard]] std::optional<Error> take_error();
    void set_error(Error error);

    [[nodiscard]] std::int64_t changes() const noexcept; // rows that the last statement changed
    [[nodiscard]] std::int64_t total_changes() const noexcept; // since it was opened
    // Inside a transaction: a number that changes with every commit of any connection.
    [[nodiscard]] std::uint32_t data_version() const noexcept;
    [[nodiscard]] bool in_transaction() const noexcept;
    // The open file of the database, or of the expected log, is no longer the one with its name.
    [[nodiscard]] bool file_is_gone() const noexcept;
    // Calls `changed` with the rowid of each row of that table that is inserted, updated or deleted
    // through this connection; the table is not WITHOUT ROWID. It must not use the connection.
    void watch_rows(const char* table, std::function<void(std::int64_t)> changed);
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    // The same without symbolic links; empty: there is no file.
    [[nodiscard]] const std::string& file() const noexcept { return file_; }
    [[nodiscard]] std::vector<std::string> statements() const; // the cached ones

    // ---- The write-ahead log

    // A commit that leaves so many pages in the log makes a passive checkpoint.
    void checkpoint_every(int pages);
    // A passive checkpoint now. A failure is no error: it loses nothing.
    void checkpoint();
    // Whether the disk was found full since the last call.
    [[nodiscard]] bool take_full() noexcept { return std::exchange(full_, false); }
    // How many pages the log had after the last commit of this connection.
    [[nodiscard]] std::int64_t log_pages() const noexcept { return log_.pages; }
    // The size of the log's file; nullopt: there is none.
    [[nodiscard]] std::optional<std::int64_t> log_size();
    // Extends the log's file with zeros, inside a write transaction; false: the disk refused.
    [[nodiscard]] bool extend_log(std::int64_t from, std::int64_t to);
    // The file that has the log's name; nullopt: there is none.
    struct FileIdentity {
        std::uint64_t device = 0;
        std::uint64_t number = 0;
        bool operator==(const FileIdentity&) const = default;
    };
    [[nodiscard]] std::optional<FileIdentity> log_identity() const noexcept;
    // From now on the log has to be this file: SQLite does not delete it while a connection is
    // open. nullopt: any file.
    void expect_log(std::optional<FileIdentity> expected) noexcept { log_.expected = expected; }
    [[nodiscard]] std::optional<FileIdentity> expected_log() const noexcept {
        return log_.expected;
    }
    // P12: returns when the disk has what was in the log at the time of the call.
    void sync_log();

 private:
    friend class Query;

    struct Finalizer {
        void operator()(sqlite3_stmt* statement) const noexcept;
    };
    using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;
    struct Closer {
        void operator()(sqlite3* db) const noexcept;
    };

    struct Log {
        int pages = 0;
        int checkpoint_at = 0;
        std::string path; // empty: there is no file
        std::optional<FileIdentity> expected;
    };

    Connection(sqlite3* db, std::string path, Duration busy_timeout);

    struct Watched {
        std::string table;
        std::function<void(std::int64_t)> changed;
    };

    static void
    note_row(void* watched, int operation, const char* name, const char* table, long long row);
    static int note_commit(void* log, sqlite3* db, const char* name, int pages);
    [[nodiscard]] sqlite3_file* log_file();
    // The errno of the last write to the log that failed; 0: unknown.
    [[nodiscard]] int log_errno();
    static int wait_while_busy(void* self, int tries);
    [[nodiscard]] Statement prepare(std::string_view sql, bool keep);
    void fail(int code);

    std::unique_ptr<sqlite3, Closer> db_;
    const std::string path_;
    std::string file_;
    Duration busy_timeout_;
    // By address: every text is a literal. nullptr while a query uses the statement.
    std::unordered_map<const char*, Statement> cache_;
    std::optional<Error> error_;
    bool full_ = false;
    Log log_;
    Watched watched_;
};

// A prepared statement in use. Texts must outlive it: they are not copied.
//
//     Query rows{db, "SELECT name FROM t WHERE id = ?1", id};
//     while (rows.step()) { use(rows.text(0)); }
class Query {
 public:
    template <class... Values>
    Query(Connection& db, const char* sql, const Values&... values) : Query{db, sql} {
        int index = 0;
        (bind(++index, values), ...);
    }
    Query(Connection& db, const char* sql);
    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;
    ~Query();

    [[nodiscard]] bool step(); // to the next row; false: there is none, or an error
    void run() {               // to the end, for statements without rows
        while (step()) {
        }
    }

    [[nodiscard]] bool null(int column) const;
    [[nodiscard]] std::int64_t integer(int column) const;
    // Numbers above the signed half are stored as negative ones.
    [[nodiscard]] std::uint64_t number(int column) const {
        return static_cast<std::uint64_t>(integer(column));
    }
    [[nodiscard]] std::string_view view(int column) const; // until the next step
    [[nodiscard]] std::string text(int column) const { return std::string{view(column)}; }
    [[nodiscard]] std::optional<std::string> optional_text(int column) const {
        return null(column) ? std::nullopt : std::optional{text(column)};
    }
    [[nodiscard]] Instant instant(int column) const { return Instant{Duration{integer(column)}}; }

 private:
    void bind_integer(int index, std::int64_t value);
    void bind_text(int index, std::string_view value);
    void bind_null(int index);

    template <class Value>
    void bind(int index, const Value& value) {
        if constexpr (std::is_enum_v<Value> || std::is_integral_v<Value>) {
            bind_integer(index, static_cast<std::int64_t>(value));
        } else if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
            bind_text(index, value);
        } else if constexpr (requires { value.time_since_epoch(); }) {
            bind_integer(index, value.time_since_epoch().count());
        } else if constexpr (std::is_same_v<Value, std::nullopt_t>) {
            bind_null(index);
        } else { // optional
            value ? bind(index, *value) : bind_null(index);
        }
    }

    Connection& db_;
    Connection::Statement statement_;
    Connection::Statement* place_ = nullptr; // in the cache; nullptr: it is not a cached one
};

// The first column of the first row.
template <class... Values>
[[nodiscard]] std::optional<std::int64_t>
find_integer(Connection& db, const char* sql, const Values&... values) {
    Query query{db, sql, values...};
    return query.step() && !query.null(0) ? std::optional{query.integer(0)} : std::nullopt;
}

template <class... Values>
void run(Connection& db, const char* sql, const Values&... values) {
    Query{db, sql, values...}.run();
}

} // namespace durable::sqlite
