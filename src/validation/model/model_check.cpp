#include "base/try.hpp"
#include "validation/model/player.hpp"
#include "validation/model/script.hpp"

#include <durable/memory.hpp>
#include <durable/model_check.hpp>

#include <algorithm>
#include <utility>

namespace durable::validation {

namespace {

// A shared pointer to the caller's clock that does not own it, for a provider.
std::shared_ptr<Clock> lent(ManualClock& clock) {
    return {std::shared_ptr<void>{}, &clock};
}

// Runs a script on fresh stores; returns the first difference, if any, and where.
struct Played {
    std::optional<Difference> difference;
    std::size_t operations = 0;
    std::vector<std::string> script;
};

Result<Played> play(Factory& factory, const Oracle& oracle, const std::vector<Operation>& script) {
    DURABLE_TRY_ASSIGN(auto subject, factory.create());
    auto& clock = *factory.clock();
    Player player{oracle(lent(clock)), std::move(subject), factory, clock};
    Played played;
    for (const auto& operation : script) {
        ++played.operations;
        played.difference = player.play(operation);
        if (played.difference) {
            break;
        }
    }
    played.script = player.script();
    return played;
}

// Shrinks the script: leaves out ever smaller pieces while the stores still differ. The difference
// may change on the way: any one will do.
Result<std::vector<Operation>>
shrink(Factory& factory, const Oracle& oracle, std::vector<Operation> script) {
    for (std::size_t piece = script.size() / 2; piece > 0;) {
        bool shorter = false;
        for (std::size_t at = 0; at + 1 < script.size();) {
            auto candidate = script;
            const auto end = std::min(at + piece, candidate.size());
            candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(at),
                            candidate.begin() + static_cast<std::ptrdiff_t>(end));
            DURABLE_TRY_ASSIGN(const auto played, play(factory, oracle, candidate));
            if (played.difference) {
                candidate.resize(played.operations);
                script = std::move(candidate);
                shorter = true;
            } else {
                at += piece;
            }
        }
        if (!shorter) {
            piece /= 2;
        }
    }
    return script;
}

} // namespace

namespace {

// The lines that only one of the texts has: states are long, differences are short.
std::string only_in(const std::string& text, const std::string& other) {
    std::string lines;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        const auto line = text.substr(at, end - at);
        lines += other.find(line) == std::string::npos ? "\n    " + line : "";
        at = end + 1;
    }
    return lines.empty() ? "\n    " + text : lines;
}

} // namespace

std::string Divergence::text() const {
    std::string all = "seed " + std::to_string(seed) + ", shrunk to " +
                      std::to_string(script.size()) + " operations:\n";
    for (std::size_t i = 0; i < script.size(); ++i) {
        all += "  " + std::to_string(i + 1) + ". " + script[i] + "\n";
    }
    return all + "expected:" + only_in(oracle, subject) + "\nbut got:" + only_in(subject, oracle) +
           "\n";
}

Oracle memory_oracle() {
    return [](std::shared_ptr<Clock> clock) { return memory::open({.clock = std::move(clock)}); };
}

Result<std::optional<Divergence>>
model_check(Factory& subject, const Oracle& oracle, const ModelCheck& options) {
    if (subject.clock() == nullptr) {
        return fail(ErrorCode::unsupported,
                    "model checking needs a factory whose stores run on a ManualClock",
                    "model_check");
    }
    auto script = make_script(options.seed, options.operations, options.reopen);
    DURABLE_TRY_ASSIGN(const auto played, play(subject, oracle, script));
    if (!played.difference) {
        return std::nullopt;
    }
    script.resize(played.operations);
    DURABLE_TRY_ASSIGN(const auto shrunk, shrink(subject, oracle, std::move(script)));
    DURABLE_TRY_ASSIGN(const auto again, play(subject, oracle, shrunk));
    const auto& shown = again.difference ? again : played;
    return Divergence{.seed = options.seed,
                      .script = shown.script,
                      .oracle = shown.difference->oracle,
                      .subject = shown.difference->subject};
}

} // namespace durable::validation
