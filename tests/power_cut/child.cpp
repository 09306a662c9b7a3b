#include "power_cut/child.hpp"

#include "power_cut/trace_format.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // NOLINT(readability-redundant-declaration): POSIX has it nowhere else

namespace durable::power_cut {

Child Child::recorded(std::vector<std::string> arguments,
                      const std::string& trace,
                      const std::string& root) {
    return {std::move(arguments),
            {"LD_PRELOAD=" POWER_CUT_RECORDER,
             std::string{trace_variable} + "=" + trace,
             std::string{root_variable} + "=" + root},
            false};
}

Child Child::told(std::vector<std::string> arguments) {
    return {std::move(arguments), {}, true};
}

Child::Child(std::vector<std::string> arguments,
             const std::vector<std::string>& variables,
             bool readable) {
    std::array<int, 2> ends{-1, -1};
    if (readable && ::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error{errno, std::generic_category(), "pipe"};
    }
    arguments.insert(arguments.begin(), "power_cut");
    std::vector<char*> words;
    for (auto& argument : arguments) {
        words.push_back(argument.data());
    }
    words.push_back(nullptr);
    std::vector<char*> environment;
    for (const auto& variable : variables) {
        environment.push_back(const_cast<char*>(variable.c_str()));
    }
    for (char** variable = environ; *variable != nullptr; ++variable) {
        environment.push_back(*variable);
    }
    environment.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    if (readable) {
        ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    } else {
        ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    const int error =
        ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, words.data(), environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    if (readable) {
        ::close(ends[1]);
        output_ = ends[0];
    }
    if (error != 0) {
        ::close(output_);
        throw std::system_error{error, std::generic_category(), "posix_spawn"};
    }
}

Child::Child(Child&& other) noexcept
    : pid_{std::exchange(other.pid_, 0)}, output_{std::exchange(other.output_, -1)} {}

Child::~Child() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        (void)wait();
    }
    if (output_ >= 0) {
        ::close(output_);
    }
}

std::string Child::read() const {
    std::string text;
    std::array<char, 65'536> buffer{};
    while (true) {
        const auto got = ::read(output_, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return text;
        }
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
}

std::string Child::wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    if (WIFSIGNALED(status)) {
        return "signal " + std::to_string(WTERMSIG(status));
    }
    return WEXITSTATUS(status) == 0 ? "" : "exit code " + std::to_string(WEXITSTATUS(status));
}

} // namespace durable::power_cut
