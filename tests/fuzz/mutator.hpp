// Small random changes to texts, the same on every machine for the same seed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace durable::fuzz {

class Mutator {
 public:
    Mutator(std::vector<std::string> corpus, std::uint64_t seed);

    // One text of the corpus with one to four changes.
    [[nodiscard]] std::string next();

 private:
    void change(std::string& text);
    [[nodiscard]] std::size_t below(std::size_t limit) {
        return limit == 0 ? 0 : random_() % limit;
    }

    std::vector<std::string> corpus_;
    std::mt19937_64 random_;
};

} // namespace durable::fuzz
