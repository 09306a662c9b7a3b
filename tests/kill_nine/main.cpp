// kill_nine: kills a worker process under load again and again, and judges what is left.
//
//     kill_nine [--cycles N] [--seed S]
//
// The seed decides when to kill; what the worker does until then is up to the machine. The store
// and the diaries of the last life stay when something is wrong.

#include "base/files.hpp"
#include "base/random.hpp"
#include "kill_nine/diary.hpp"
#include "kill_nine/judge.hpp"
#include "kill_nine/worker.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <durable/time.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // NOLINT(readability-redundant-declaration): POSIX has it nowhere else

namespace durable::kill_nine {
namespace {

constexpr int longest_start_ms = 120'000;

// ---- The child's side: kill_nine worker DIRECTORY NUMBER go-on|last ORDER...

void tell_ready() {
    const char byte = '!';
    if (::write(STDOUT_FILENO, &byte, 1) != 1) {
        throw std::runtime_error{"nobody wants to know that the worker is ready"};
    }
}

int work(std::span<const std::string> arguments) {
    const Life life{.directory = arguments[0],
                    .number = std::stoull(arguments[1]),
                    .last = arguments[2] == "last",
                    .send_again = {arguments.begin() + 3, arguments.end()}};
    live(life, tell_ready);
    return EXIT_SUCCESS;
}

// ---- The parent's side

class Worker {
 public:
    explicit Worker(const Life& life) {
        int ends[2] = {};
        if (::pipe(ends) != 0) {
            throw std::system_error{errno, std::generic_category(), "pipe"};
        }
        std::vector<std::string> words{"kill_nine",
                                       "worker",
                                       life.directory,
                                       std::to_string(life.number),
                                       life.last ? "last" : "go-on"};
        words.insert(words.end(), life.send_again.begin(), life.send_again.end());
        std::vector<char*> arguments;
        for (auto& word : words) {
            arguments.push_back(word.data());
        }
        arguments.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        ::posix_spawn_file_actions_addclose(&actions, ends[0]);
        ::posix_spawn_file_actions_addclose(&actions, ends[1]);
        const int error =
            ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(ends[1]);
        output_ = ends[0];
        if (error != 0) {
            ::close(output_);
            throw std::system_error{error, std::generic_category(), "posix_spawn"};
        }
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker() {
        if (pid_ > 0) {
            (void)kill();
        }
        ::close(output_);
    }

    // True: it says that it is ready. False: so much time has passed, or it has ended.
    bool wait_until_ready(int limit_ms) { return wait_for_output(limit_ms) && read_byte(); }
    // Lets it work for so long, or until it ends.
    void let_work(int time_ms) { (void)wait_for_output(time_ms); }

    // How it ended: by this, or before it. nullopt: killed.
    std::optional<std::string> kill() {
        ::kill(pid_, SIGKILL);
        return wait();
    }
    std::optional<std::string> wait() {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = 0;
        if (WIFEXITED(status)) {
            return "exit code " + std::to_string(WEXITSTATUS(status));
        }
        const int signal = WTERMSIG(status);
        return signal == SIGKILL ? std::nullopt : std::optional{"signal " + std::to_string(signal)};
    }

 private:
    [[nodiscard]] bool wait_for_output(int limit_ms) const {
        pollfd waiting{.fd = output_, .events = POLLIN, .revents = 0};
        return ::poll(&waiting, 1, limit_ms) > 0;
    }
    [[nodiscard]] bool read_byte() const {
        char byte = 0;
        return ::read(output_, &byte, 1) == 1;
    }

    pid_t pid_ = 0;
    int output_ = -1;
};

class Loop {
 public:
    Loop(std::string directory, std::uint64_t cycles, std::uint64_t seed)
        : directory_{std::move(directory)}, cycles_{cycles}, random_{seed} {}

    // False: a promise was broken.
    bool run() {
        for (std::uint64_t cycle = 1; cycle <= cycles_ && judge_.complaints().empty(); ++cycle) {
            Life life = next_life();
            {
                Worker worker{life};
                let_live(worker);
                if (const auto ended = worker.kill()) {
                    problem_ = "the worker ended by itself: " + *ended;
                    return false;
                }
            }
            judge(life);
            show_progress(cycle);
        }
        // Once to the end, and once more to look.
        for (int rest = 0; rest < 2 && judge_.complaints().empty(); ++rest) {
            Life life = next_life();
            life.last = true;
            Worker worker{life};
            if (const auto ended = worker.wait(); ended != "exit code 0") {
                problem_ = "the last worker: " + ended.value_or("killed by somebody");
                return false;
            }
            judge(life);
        }
        if (judge_.complaints().empty()) {
            judge_.judge_end();
        }
        return judge_.complaints().empty();
    }

    [[nodiscard]] const Judge& verdict() const noexcept { return judge_; }
    [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

    void show() const {
        const auto& counts = judge_.counts();
        std::cout << counts.lives << " lives, " << counts.orders << " orders, " << counts.ended
                  << " ended, " << counts.deleted << " deleted, " << counts.runs
                  << " steps run, of these again " << counts.again << "; killed in recovery "
                  << early_ << " times" << std::flush;
    }

 private:
    Life next_life() {
        return {.directory = directory_,
                .number = ++lives_,
                .last = false,
                .send_again = judge_.unanswered()};
    }

    // One in five dies at any moment from its birth on, most likely in recovery; the others under
    // load, most of them soon and some after a while.
    void let_live(Worker& worker) {
        if (roll(5) == 0) {
            if (!worker.wait_until_ready(roll(30))) {
                ++early_;
            }
            return;
        }
        if (!worker.wait_until_ready(longest_start_ms)) {
            return; // how it ended is told by kill()
        }
        worker.let_work(roll(4) == 0 ? roll(400) : roll(60));
    }

    void judge(const Life& life) {
        const auto text = read_file(system_files(), life.diary());
        if (text) {
            judge_.judge(read_diary(*text));
            if (judge_.complaints().empty()) {
                (void)system_files().remove(life.diary());
            }
        } else {
            judge_.judge({}); // killed before it opened the diary
        }
    }

    void show_progress(std::uint64_t cycle) const {
        const bool terminal = ::isatty(STDOUT_FILENO) != 0;
        if (terminal || cycle % std::max<std::uint64_t>(cycles_ / 10, 1) == 0) {
            std::cout << (terminal ? "\r" : "") << "cycle " << cycle << " of " << cycles_ << ": ";
            show();
            std::cout << (terminal ? "  " : "\n") << std::flush;
        }
    }

    int roll(int below) { return static_cast<int>(random_.next() % static_cast<unsigned>(below)); }

    const std::string directory_;
    const std::uint64_t cycles_;
    SeededRandom random_;
    Judge judge_;
    std::uint64_t lives_ = 0;
    std::uint64_t early_ = 0;
    std::string problem_;
};

int loop(std::span<const std::string> arguments) {
    std::uint64_t cycles = 5;
    std::uint64_t seed = to_epoch_ms(system_clock()->now());
    for (std::size_t at = 0; at + 1 < arguments.size(); at += 2) {
        if (arguments[at] == "--cycles") {
            cycles = std::stoull(arguments[at + 1]);
        } else if (arguments[at] == "--seed") {
            seed = std::stoull(arguments[at + 1]);
        } else {
            throw std::invalid_argument{"what is " + arguments[at] + "?"};
        }
    }
    if (arguments.size() % 2 != 0) {
        throw std::invalid_argument{"usage: kill_nine [--cycles N] [--seed S]"};
    }
    TemporaryDirectory directory;
    std::cout << "seed " << seed << std::endl;
    Loop loop{directory.path(), cycles, seed};
    const bool good = loop.run();
    std::cout << '\n';
    loop.show();
    std::cout << '\n';
    if (good) {
        std::cout << "nothing was lost, and no recorded step ran again\n";
        return EXIT_SUCCESS;
    }
    for (const auto& complaint : loop.verdict().complaints()) {
        std::cerr << complaint << '\n';
    }
    std::cerr << loop.problem() << "\nseed " << seed << ", the store and the diaries are in "
              << directory.keep() << '\n';
    return EXIT_FAILURE;
}

int run(const std::vector<std::string>& arguments) {
    if (!arguments.empty() && arguments.front() == "worker") {
        return work(std::span{arguments}.subspan(1));
    }
    return loop(arguments);
}

} // namespace
} // namespace durable::kill_nine

int main(int argc, char** argv) {
    try {
        return durable::kill_nine::run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::cerr << "kill_nine: " << error.what() << std::endl;
        return 2;
    }
}
