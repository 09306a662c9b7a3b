// Child: this program once more, as another process.

#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace durable::power_cut {

class Child {
 public:
    // Under the recorder. Its standard output is its diary: it goes into the trace alone.
    [[nodiscard]] static Child
    recorded(std::vector<std::string> arguments, const std::string& trace, const std::string& root);
    // Its standard output can be read.
    [[nodiscard]] static Child told(std::vector<std::string> arguments);

    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    Child(Child&& other) noexcept;
    Child& operator=(Child&&) = delete;
    ~Child(); // ends it

    // To its end.
    [[nodiscard]] std::string read() const;
    // "signal 6", "exit code 1"; empty: it ended well.
    [[nodiscard]] std::string wait();

 private:
    Child(std::vector<std::string> arguments,
          const std::vector<std::string>& variables,
          bool readable);

    pid_t pid_ = 0;
    int output_ = -1;
};

} // namespace durable::power_cut
