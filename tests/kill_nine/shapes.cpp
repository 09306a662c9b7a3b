// kill_shapes: small stories with processes that die, each judged by what the world has seen.
//
//     kill_shapes money [LIVES] [SEED]   orders are charged, cancelled, refunded; kill -9 anywhere
//     kill_shapes guilty                 one activity kills its process, the others are healthy
//
// The world is a file beside the store: what was written there happened, whatever became of the
// process. Its lines are one write(2) each.

#include "base/random.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <durable/durable.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // NOLINT(readability-redundant-declaration): POSIX has it nowhere else

namespace durable::kill_shapes {
namespace {

using namespace std::chrono_literals;
using Text = std::string;

// Real time, for real processes.
void let_pass(int milliseconds) {
    static_cast<void>(::poll(nullptr, 0, milliseconds));
}

// ---- The world

class World {
 public:
    explicit World(Text path) : path_{std::move(path)} {}

    void note(const Text& line) const {
        const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        const auto text = line + '\n';
        const auto written = file < 0 ? -1 : ::write(file, text.data(), text.size());
        ::close(file);
        if (written != static_cast<ssize_t>(text.size())) {
            throw std::system_error{errno, std::generic_category(), path_};
        }
    }
    [[nodiscard]] std::set<Text> seen() const {
        std::set<Text> lines;
        std::ifstream in{path_};
        for (Text line; std::getline(in, line);) {
            lines.insert(line);
        }
        return lines;
    }

 private:
    Text path_;
};

// ---- Money

constexpr Activity<Text(Text)> charge{"Charge"};
constexpr Activity<void(Undo<Text, Text>)> refund{"Refund"};
constexpr Activity<Text(Text)> ship{"Ship"};
constexpr Orchestration<Text(Text)> order{"Order"};

Task<Text> handle_order(Context ctx, Text id) {
    const auto receipt = co_await ctx.call(charge, id, undo_with(refund));
    co_await ctx.sleep(2ms);
    co_return co_await ctx.call(ship, receipt);
}

Registry shop(const World& world) {
    Registry registry;
    registry.add(charge, [&](ActivityContext& ctx, const Text& id) {
        static_cast<void>(ctx.sleep(1ms)); // a kill, or a cancellation, finds it in the middle
        world.note("charged " + ctx.idempotency_key());
        return "receipt of " + id;
    });
    registry.add(refund, [&](const Undo<Text, Text>& charged) {
        const auto& key = charged.idempotency_key;
        if (charged.result || world.seen().contains("charged " + key)) {
            world.note("refunded " + key);
        }
    });
    registry.add(ship, [](const Text& receipt) { return receipt; });
    registry.add(order, handle_order);
    return registry;
}

// Sends orders and cancels half of them until it is killed. In the last life it waits for all that
// were ever sent, and writes down how they ended.
void live_on_money(const Text& directory, std::uint64_t life, bool last) {
    const auto store = fs::open(directory + "/store").value();
    const World world{directory + "/world"};
    RuntimeOptions options{.max_attempts = 1'000'000, .logger = silent_logger()};
    const auto runtime = Runtime::start(store, shop(world), options);
    const Client client{store};
    std::uint64_t number = 0;
    while (!last) {
        const auto id = "o-" + std::to_string(life) + "-" + std::to_string(number);
        const auto run = client.start(order, id, {.id = id}).value();
        if (number == 0) {
            World{directory + "/lives"}.note(std::to_string(life)); // from now on it may be killed
        }
        if (number % 2 == 0) {
            let_pass(static_cast<int>(number % 5));
            static_cast<void>(client.cancel(id, "customer called"));
        }
        if (number % 8 == 7) {
            static_cast<void>(run.wait(60s));
        }
        ++number;
    }
    std::ofstream ends{directory + "/ends"};
    const auto ids = Management::of(store).value().list_instances().value();
    for (const auto& id : ids) {
        const auto status = client.wait(id, 60s).value();
        ends << id << ' ' << (status.failure ? kind_of(*status.failure) : "Completed") << '\n';
    }
}

int judge_money(const Text& directory) {
    const auto seen = World{directory + "/world"}.seen();
    std::ifstream ends{directory + "/ends"};
    std::map<Text, int> counts;
    int wrong = 0;
    for (Text id, end; ends >> id >> end;) {
        const auto key = id + "/1/2"; // the charge is the first step
        const bool charged = seen.contains("charged " + key);
        const bool refunded = seen.contains("refunded " + key);
        const bool right = end == "Completed"   ? charged && !refunded
                           : end == "Cancelled" ? charged == refunded
                                                : false;
        ++counts[end + (charged ? ", charged" : "") + (refunded ? ", refunded" : "")];
        if (!right) {
            ++wrong;
            std::cerr << id << ": " << end << (charged ? ", charged" : ", not charged")
                      << (refunded ? ", refunded" : ", not refunded") << '\n';
        }
    }
    for (const auto& [what, count] : counts) {
        std::cout << count << ' ' << what << '\n';
    }
    return wrong == 0 && !counts.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

// ---- Guilty

constexpr Activity<Text(Text)> deadly{"Deadly"};
constexpr Activity<Text(Text)> healthy{"Healthy"};
constexpr Orchestration<Text(Text)> killer{"Killer"};
constexpr Orchestration<Text(Text)> victim{"Victim"};
constexpr int innocent = 4;

Task<Text> call_deadly(Context ctx, Text id) {
    co_return co_await ctx.call(deadly, id);
}

Task<Text> call_healthy(Context ctx, Text id) {
    co_return co_await ctx.call(healthy, id);
}

// The guilty one stands in the middle of the queue.
std::vector<Text> patients() {
    std::vector<Text> ids;
    for (int i = 0; i < innocent; ++i) {
        ids.push_back("healthy-" + std::to_string(i));
    }
    ids.insert(ids.begin() + innocent / 2, "deadly");
    return ids;
}

// Until it dies, or to the end; then it writes down how all ended.
void live_on_guilty(const Text& directory) {
    const auto store = fs::open(directory + "/store").value();
    Registry registry;
    registry.add(deadly, [](const Text&) -> Text {
        let_pass(30); // the others are under way
        ::kill(::getpid(), SIGKILL);
        std::abort();
    });
    registry.add(healthy, [](ActivityContext& ctx, const Text& id) {
        if (!ctx.sleep(100ms)) {
            throw std::runtime_error{"asked to stop"};
        }
        return id;
    });
    registry.add(killer, call_deadly).add(victim, call_healthy);
    const Client client{store};
    for (const auto& id : patients()) {
        const auto& code = id == "deadly" ? killer : victim;
        static_cast<void>(client.start(code, id, {.id = id, .existing = Existing::attach}).value());
    }
    const auto runtime =
        Runtime::start(store, registry, {.worker_lock_timeout = 200ms, .logger = silent_logger()});
    std::ofstream ends{directory + "/ends"};
    for (const auto& id : patients()) {
        const auto status = client.wait(id, 60s).value();
        ends << id << ' ' << (status.failure ? kind_of(*status.failure) : status.output) << '\n';
    }
}

// ---- Processes

class Process {
 public:
    explicit Process(std::vector<Text> words) {
        words.insert(words.begin(), "kill_shapes");
        std::vector<char*> arguments;
        for (auto& word : words) {
            arguments.push_back(word.data());
        }
        arguments.push_back(nullptr);
        const int error =
            ::posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ);
        if (error != 0) {
            throw std::system_error{error, std::generic_category(), "posix_spawn"};
        }
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process() {
        if (pid_ > 0) {
            kill();
        }
    }

    void kill() {
        ::kill(pid_, SIGKILL);
        static_cast<void>(wait());
    }
    // The status of waitpid.
    [[nodiscard]] int wait() {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = 0;
        return status;
    }

 private:
    pid_t pid_ = 0;
};

int run_money(std::uint64_t lives, std::uint64_t seed) {
    TemporaryDirectory directory;
    SeededRandom random{seed};
    for (std::uint64_t life = 1; life <= lives; ++life) {
        Process worker{{"live", "money", directory.path(), std::to_string(life), "go-on"}};
        const World born{directory.path() + "/lives"};
        while (!born.seen().contains(std::to_string(life))) {
            let_pass(1);
        }
        let_pass(static_cast<int>(random.next() % 150));
        worker.kill();
    }
    Process last{{"live", "money", directory.path(), "0", "last"}};
    if (const int status = last.wait(); !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        std::cerr << "the last life ended with " << status << ", seed " << seed << '\n';
        return EXIT_FAILURE;
    }
    const int verdict = judge_money(directory.path());
    if (verdict != EXIT_SUCCESS) {
        std::cerr << "seed " << seed << ", all of it is in " << directory.keep() << '\n';
    }
    return verdict;
}

int run_guilty() {
    constexpr int most_lives = 40; // ten for the guilty one, and some in which others came first
    TemporaryDirectory directory;
    int deaths = 0;
    while (true) {
        Process worker{{"live", "guilty", directory.path()}};
        if (WIFEXITED(worker.wait())) {
            break;
        }
        if (++deaths == most_lives) {
            std::cerr << "it still dies after " << deaths << " lives\n";
            return EXIT_FAILURE;
        }
    }
    std::ifstream ends{directory.path() + "/ends"};
    int wrong = 0;
    std::size_t seen = 0;
    for (Text id, end; ends >> id >> end; ++seen) {
        std::cout << id << ": " << end << '\n';
        wrong += end == (id == "deadly" ? Text{failure_kind::poison} : id) ? 0 : 1;
    }
    std::cout << "after " << deaths << " deaths\n";
    return wrong == 0 && seen == patients().size() ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run(const std::vector<Text>& words) {
    const auto number = [&](std::size_t at, std::uint64_t otherwise) {
        return words.size() > at ? std::stoull(words[at]) : otherwise;
    };
    if (words.size() == 5 && words[0] == "live" && words[1] == "money") {
        live_on_money(words[2], std::stoull(words[3]), words[4] == "last");
        return EXIT_SUCCESS;
    }
    if (words.size() == 3 && words[0] == "live" && words[1] == "guilty") {
        live_on_guilty(words[2]);
        return EXIT_SUCCESS;
    }
    if (words.size() == 1 && words[0] == "guilty") {
        return run_guilty();
    }
    if (!words.empty() && words[0] == "money") {
        return run_money(number(1, 5), number(2, 1));
    }
    throw std::invalid_argument{"usage: kill_shapes money [LIVES] [SEED] | guilty"};
}

} // namespace
} // namespace durable::kill_shapes

int main(int argc, char** argv) {
    try {
        return durable::kill_shapes::run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::cerr << "kill_shapes: " << error.what() << std::endl;
        return 2;
    }
}
