#include "power_cut/workload.hpp"

#include "base/random.hpp"
#include "power_cut/turn.hpp"

#include <durable/provider_admin.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <sqlite3.h>
#include <unistd.h>

namespace durable::power_cut {

namespace {

using namespace std::chrono_literals;

constexpr int openings = 3; // of the store in one life
constexpr std::size_t threads = 3;
constexpr std::size_t calls = 40; // of each thread in each opening

// With so little memory for pages SQLite writes those of a transaction into the log before it ends,
// and some of them again: it spills, as with more pages than its cache may hold.
constexpr sqlite3_int64 tight_memory = 1U << 18U;

// One write, so that lines of two threads or processes never mix.
void note(std::string line) {
    line += '\n';
    if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        throw std::runtime_error{"the diary cannot be written"};
    }
}

// The instances that have started, for all threads.
class Known {
 public:
    void add(std::string id) {
        const std::scoped_lock lock{mutex_};
        ids_.push_back(std::move(id));
    }
    // Any of them; empty: there is none.
    std::string any(Random& random) {
        const std::scoped_lock lock{mutex_};
        return ids_.empty() ? std::string{} : ids_[random.next() % ids_.size()];
    }
    // Takes away some, for whom nothing is meant any more. Those of other processes stay.
    std::vector<std::string> take(Random& random, std::size_t most, const std::string& ending) {
        const std::scoped_lock lock{mutex_};
        std::vector<std::string> taken;
        while (taken.size() < most) {
            const auto begin = ids_.empty() ? 0 : random.next() % ids_.size();
            const auto found = std::find_if(ids_.begin() + static_cast<std::ptrdiff_t>(begin),
                                            ids_.end(),
                                            [&](const auto& id) { return id.ends_with(ending); });
            if (found == ids_.end()) {
                break;
            }
            taken.push_back(std::move(*found));
            ids_.erase(found);
        }
        return taken;
    }

 private:
    std::mutex mutex_;
    std::vector<std::string> ids_;
};

class Caller {
 public:
    Caller(Provider& store, Known& known, const Work& work, int opening, std::size_t thread)
        : store_{store},
          known_{known},
          work_{work},
          random_{work.seed * 1'000'003 + work.place.life * 10'007 + work.member * 1009 +
                  static_cast<std::uint64_t>(opening) * 101 + thread},
          name_{std::to_string(work.place.life) + "." + std::to_string(opening) + "." +
                std::to_string(thread)},
          ending_{"@" + std::to_string(work.member)} {}

    void call(bool large) {
        const auto dice = random_.next() % 100;
        if (large) {
            send(work_.place.kind == Kind::fs ? large_record() : 100U << 10U);
            take_turn(true);
        } else if (dice < 15) {
            start();
        } else if (dice < 40) {
            send(random_.next() % 10 == 0 ? random_.next() % 40'000 : random_.next() % 300);
        } else if (dice < 72) {
            take_turn(false);
        } else if (dice < 88) {
            run_activity();
        } else if (dice < 92) {
            erase();
        } else if (dice < 94) {
            prune();
        } else {
            read();
        }
    }

 private:
    // Larger than the segment that waits to be used.
    [[nodiscard]] std::size_t large_record() const {
        return work_.place.tight() ? 300U << 10U : 5U << 20U;
    }

    // "1.0.2.7@0"
    std::string next_call() { return name_ + "." + std::to_string(++calls_) + ending_; }

    // Notes what is asked, asks, notes that it was acknowledged. An error may mean anything.
    template <class Ask>
    bool make(const std::string& call, const std::string& what, Ask ask) {
        note(call + " try " + what);
        const bool done = ask().has_value();
        if (done) {
            note(call + " done");
        }
        return done;
    }

    void start() {
        const auto call = next_call();
        const auto id = "i" + call;
        const work::StartOrchestration item{
            .instance = id, .orchestration = "Order", .input = "0", .version = "1.0.0"};
        if (make(call, "message " + id + " " + id + "^", [&] {
                return store_.enqueue_for_orchestrator(item, std::nullopt);
            })) {
            known_.add(id);
        }
    }

    void send(std::size_t size) {
        const auto target = known_.any(random_);
        if (target.empty()) {
            return start();
        }
        const auto call = next_call();
        const auto tag = "r" + call;
        const auto item = make_message(target, tag, size);
        (void)make(call, "message " + target + " " + tag, [&] {
            return store_.enqueue_for_orchestrator(item, std::nullopt);
        });
    }

    void take_turn(bool large) {
        const auto fetched = store_.fetch_orchestration_item({.lock_timeout = 1h});
        if (!fetched || !*fetched) {
            return;
        }
        const auto& item = **fetched;
        const Outgoing outgoing{.messages = large ? 60 : random_.next() % 3,
                                .size = large ? 20'000 : random_.next() % 300,
                                .activities = random_.next() % 3};
        const auto turn = decide(item, outgoing, random_, [&] { return known_.any(random_); });
        if (!turn) {
            return; // leased until the next life
        }
        (void)make(
            next_call(), turn->note, [&] { return store_.ack_orchestration_item(turn->commit); });
    }

    void run_activity() {
        const auto fetched = store_.fetch_work_item({.lock_timeout = 1h, .tags = TagFilter::any()});
        if (!fetched || !*fetched) {
            return;
        }
        const auto& item = (*fetched)->item;
        const auto& tag = item.input;
        const auto hash = tag.find('#');
        const auto call = next_call();
        note(call + " try given " + tag.substr(0, hash) + " " +
             std::to_string(std::stoull(tag.substr(hash + 1))));
        note(call + " done");
        if (random_.next() % 8 == 0) { // given back, or the worker vanishes
            if (random_.next() % 2 == 0) {
                (void)store_.abandon_work_item((*fetched)->lock_token, std::nullopt, false);
            }
            return;
        }
        const work::ActivityCompleted completion{.instance = item.instance,
                                                 .execution_id = item.execution_id,
                                                 .id = item.id,
                                                 .result = tag + "="};
        (void)make(next_call(), "activity " + tag, [&] {
            return store_.ack_work_item((*fetched)->lock_token, completion);
        });
    }

    void erase() {
        const auto ids = known_.take(random_, 1 + random_.next() % 3, ending_);
        std::string what = "erase";
        for (const auto& id : ids) {
            what += " " + id;
        }
        auto& admin = *store_.as_management_capability();
        if (ids.size() == 1) {
            (void)make(next_call(), what, [&] { return admin.delete_instance(ids.front(), true); });
        } else if (!ids.empty()) {
            (void)make(next_call(), what, [&] { return admin.delete_instances_atomic(ids, true); });
        }
    }

    void prune() {
        const auto id = known_.any(random_);
        if (!id.empty()) {
            (void)make(next_call(), "prune " + id, [&] {
                return store_.as_management_capability()->prune_executions(id, {.keep_last = 1});
            });
        }
    }

    void read() {
        const auto id = known_.any(random_);
        const auto call = next_call();
        auto& admin = *store_.as_management_capability();
        switch (random_.next() % 4) {
        case 0:
            (void)make(call, "read", [&] { return store_.read(id); });
            break;
        case 1:
            (void)make(call, "read", [&] { return store_.get_kv_all_values(id); });
            break;
        case 2:
            (void)make(call, "read", [&] { return admin.list_instances(); });
            break;
        default:
            (void)make(call, "read", [&] { return admin.get_queue_depths(); });
        }
    }

    Provider& store_;
    Known& known_;
    const Work& work_;
    SeededRandom random_;
    std::string name_;
    std::string ending_;
    std::size_t calls_ = 0;
};

// A user with the sqlite3 shell: holds a snapshot while calls are made, so that the log cannot
// begin anew, and then runs one of SQLite's kinds of checkpoint.
class Visitor {
 public:
    explicit Visitor(const StorePlace& place) {
        if (place.kind == Kind::sqlite) {
            (void)sqlite3_open_v2(place.path().c_str(), &db_, SQLITE_OPEN_READWRITE, nullptr);
        }
    }
    Visitor(const Visitor&) = delete;
    Visitor& operator=(const Visitor&) = delete;
    ~Visitor() { sqlite3_close(db_); }

    void begin() { say("BEGIN; SELECT count(*) FROM durable_history"); }
    void end(std::uint64_t dice) {
        static constexpr std::array ways{"PRAGMA wal_checkpoint(PASSIVE)",
                                         "PRAGMA wal_checkpoint(RESTART)",
                                         "PRAGMA wal_checkpoint(TRUNCATE)"};
        say("COMMIT");
        say(ways.at(dice % ways.size()));
    }

 private:
    // Busy is an answer, too.
    void say(const char* sql) {
        if (db_ != nullptr) {
            (void)sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
        }
    }

    sqlite3* db_ = nullptr;
};

void work_once(const Work& work, Provider& store, int opening) {
    Known known;
    if (const auto listed = store.as_management_capability()->list_instances()) {
        for (const auto& id : *listed) {
            known.add(id);
        }
    }
    std::atomic<std::size_t> made{0};
    std::atomic<std::size_t> working{threads};
    std::vector<std::jthread> callers;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        callers.emplace_back([&, thread] {
            Caller caller{store, known, work, opening, thread};
            for (std::size_t number = 0; number < calls; ++number) {
                caller.call(work.large && thread == 0 && number == calls / 2);
                ++made;
                made.notify_all();
            }
            --working;
            ++made;
            made.notify_all();
        });
    }
    Visitor visitor{work.place};
    SeededRandom random{work.seed};
    constexpr std::size_t stay = 15; // calls
    while (work.member == 0 && working > 0) {
        visitor.begin();
        for (auto now = made.load(), end = now + stay; now < end && working > 0;
             now = made.load()) {
            made.wait(now);
        }
        visitor.end(random.next());
    }
}

} // namespace

void do_work(const Work& work) {
    if (work.large && work.place.tight()) {
        sqlite3_soft_heap_limit64(tight_memory);
    }
    for (int opening = 0; opening < openings; ++opening) {
        auto store = open_store(work.place);
        if (!store) {
            throw std::runtime_error{store.error().text()};
        }
        work_once(work, **store, opening);
        if (opening == openings - 1 && work.seed % 2 == 0) {
            std::_Exit(EXIT_SUCCESS); // without closing anything
        }
    }
}

} // namespace durable::power_cut
