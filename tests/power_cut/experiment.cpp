#include "power_cut/experiment.hpp"

#include "base/files.hpp"
#include "power_cut/child.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace durable::power_cut {

namespace {

// Lives as users get the store make large files: their cuts cost three times as much.
constexpr std::size_t cuts_of_a_tight_life = 60;
constexpr std::size_t cuts_of_an_ample_life = 20;
// The files provider scans its queues with every fetch: after more lives, with ever longer queues,
// a look would take minutes.
constexpr std::uint64_t lives_of_a_files_store = 8;
constexpr std::size_t shown_calls = 12;

std::string name_of(Kind kind) {
    switch (kind) {
    case Kind::fs:
        return "fs";
    case Kind::sqlite:
        return "sqlite";
    case Kind::files:
        return "files";
    }
    return {};
}

bool is_first_of_a_store(Kind kind, std::uint64_t earlier_lives) {
    return kind == Kind::files ? earlier_lives % lives_of_a_files_store == 0 : earlier_lives == 0;
}

bool changes_names_or_sizes(Call call) {
    return call == Call::resize || call == Call::allocate || call == Call::rename ||
           call == Call::link || call == Call::unlink || call == Call::make_directory ||
           call == Call::remove_directory;
}

class Life {
 public:
    Life(const Experiment& experiment, std::uint64_t number)
        : experiment_{experiment}, number_{number} {}

    // Runs the workload, recorded. What went wrong; nullopt: nothing.
    [[nodiscard]] std::optional<std::string> record() const {
        std::filesystem::remove_all(path("live"));
        std::filesystem::copy(path("base"), path("live"), std::filesystem::copy_options::recursive);
        if (auto made = replace_file(system_files(), path("trace"), ""); !made) {
            throw std::runtime_error{made.error().text};
        }
        std::vector<Child> members;
        const std::size_t count = experiment_.kind == Kind::sqlite ? 2 : 1;
        for (std::size_t member = 0; member < count; ++member) {
            members.push_back(Child::recorded({"work",
                                               name_of(experiment_.kind),
                                               path("live"),
                                               std::to_string(number_),
                                               std::to_string(experiment_.seed + number_),
                                               std::to_string(member),
                                               experiment_.large ? "large" : "small"},
                                              path("trace"),
                                              path("live")));
        }
        std::optional<std::string> problem;
        for (auto& member : members) {
            if (const auto ended = member.wait(); !ended.empty()) {
                problem = "the workload ended with " + ended;
            }
        }
        return problem;
    }

    void load() {
        trace_.emplace(path("trace"));
        disk_.emplace(path("base"), experiment_.lies);
        diary_.emplace();
        diary_->take(read_file(system_files(), path("diary")).value());
    }

    // Moments of all kinds: just after an acknowledgement, around the end of a sync, shortly after
    // a rare call, and any.
    [[nodiscard]] std::vector<Cut> choose_cuts() const {
        const auto& records = trace_->records();
        std::vector<std::size_t> told;
        std::vector<std::size_t> synced;
        std::vector<std::size_t> rare;
        for (std::size_t index = 0; index < records.size(); ++index) {
            const auto& record = records[index];
            if (record.call == Call::note && record.bytes.ends_with("done\n")) {
                told.push_back(index + 1);
            } else if (record.call == Call::sync_end) {
                synced.push_back(index);
            } else if (changes_names_or_sizes(record.call)) {
                rare.push_back(index + 1);
            }
        }
        SeededRandom random{experiment_.seed * 7919 + number_};
        const StorePlace place{.kind = experiment_.kind, .directory = {}, .life = number_};
        const auto most = place.tight() ? cuts_of_a_tight_life : cuts_of_an_ample_life;
        std::vector<Cut> cuts(std::min(most, experiment_.cuts));
        for (auto& cut : cuts) {
            const auto dice = random.next() % 4;
            if (dice == 0 && !told.empty()) {
                cut.position = told[random.next() % told.size()];
            } else if (dice == 1 && !synced.empty()) {
                cut.position = synced[random.next() % synced.size()] + random.next() % 2;
            } else if (dice == 2 && !rare.empty()) {
                cut.position = rare[random.next() % rare.size()] + random.next() % 4;
            } else {
                cut.position = random.next();
            }
            cut.position %= records.size() + 1;
            cut.survival = Survival::choose(random, cut.position);
        }
        std::ranges::sort(cuts, {}, &Cut::position);
        for (std::size_t number = 0; number < cuts.size(); ++number) {
            cuts[number].number = number;
        }
        return cuts;
    }

    void go_to(std::size_t position) {
        const auto& records = trace_->records();
        while (disk_->position() < position) {
            const auto& record = records[disk_->position()];
            if (record.call == Call::note) {
                diary_->take(record.bytes);
            }
            disk_->take(record);
        }
    }
    void go_to_end() { go_to(trace_->records().size()); }

    // What the cut has left, and what is wrong with it.
    std::vector<std::string> cut(const Survival& survival, Found& found) const {
        leave("looked", survival); // a look changes it
        auto child = Child::told(
            {"look", name_of(experiment_.kind), path("looked"), std::to_string(number_ + 1)});
        const auto text = child.read();
        const auto ended = child.wait();
        found = Found::parse(text);
        if (!ended.empty()) {
            found.flaws.push_back("the look ended with " + ended);
        }
        return judge(diary_->expected(), found);
    }

    // The next life goes on from there.
    void hand_over(const Survival& survival, const Found& found) const {
        leave("next", survival);
        const auto notes = diary_->expected().notes_after(found);
        if (auto made = replace_file(system_files(), path("next.diary"), notes); !made) {
            throw std::runtime_error{made.error().text};
        }
    }

    [[nodiscard]] Failure failure(const Cut& cut, std::vector<std::string> complaints) const {
        Failure made{.life = number_, .cut = cut, .complaints = std::move(complaints)};
        const auto& records = trace_->records();
        for (auto index = cut.position - std::min(cut.position, shown_calls); index < cut.position;
             ++index) {
            made.calls.push_back(std::to_string(index) + ": " + describe(records[index]));
        }
        leave("left", cut.survival); // for people to look at
        for (const auto& survival : simple_survivals) {
            Found found;
            if (!this->cut(survival, found).empty()) {
                made.simplest = describe(survival);
                leave("left", survival);
                break;
            }
        }
        return made;
    }

    [[nodiscard]] std::string path(const std::string& name) const {
        return experiment_.directory + "/" + name;
    }
    [[nodiscard]] const Disk& disk() const { return *disk_; }
    [[nodiscard]] std::size_t records() const { return trace_->records().size(); }
    [[nodiscard]] std::size_t promised() const {
        std::size_t count = 0;
        for (const auto& [id, state] : diary_->expected().instances) {
            count += state.promised;
        }
        for (const auto& [tag, message] : diary_->expected().messages) {
            count += message.promised ? 1U : 0U;
        }
        return count;
    }

 private:
    void leave(const std::string& name, const Survival& survival) const {
        std::filesystem::remove_all(path(name));
        disk_->leave(path(name), survival);
    }

    const Experiment& experiment_;
    std::uint64_t number_;
    std::optional<Trace> trace_;
    std::optional<Disk> disk_;
    std::optional<Diary> diary_;
};

std::optional<Failure> live(const Experiment& experiment, std::uint64_t number, Outcome& outcome) {
    const auto failed = [&](std::string why) {
        return Failure{.life = number, .cut = std::nullopt, .complaints = {std::move(why)}};
    };
    Life life{experiment, number};
    if (auto problem = life.record()) {
        return failed(*std::move(problem));
    }
    {
        Life whole{experiment, number}; // the trace has everything that the directory has
        whole.load();
        whole.go_to_end();
        if (auto differs = whole.disk().difference(life.path("live"))) {
            return failed("the recorder missed something: " + *std::move(differs));
        }
    }
    life.load();
    outcome.records += life.records();
    const auto cuts = life.choose_cuts();
    const auto heir = (experiment.seed + number) % cuts.size();
    for (const auto& cut : cuts) {
        life.go_to(cut.position);
        Found found;
        auto complaints = life.cut(cut.survival, found);
        if (!complaints.empty()) {
            return life.failure(cut, std::move(complaints));
        }
        outcome.promised += life.promised();
        ++outcome.cuts;
        if (cut.number == heir) {
            life.hand_over(cut.survival, found);
        }
    }
    return std::nullopt;
}

} // namespace

Outcome run(const Experiment& experiment) {
    const auto path = [&](const std::string& name) { return experiment.directory + "/" + name; };
    Outcome outcome;
    while (outcome.cuts < experiment.cuts && !outcome.failure) {
        std::filesystem::remove_all(path("base"));
        if (is_first_of_a_store(experiment.kind, outcome.lives)) {
            std::filesystem::create_directories(path("base"));
            if (auto made = replace_file(system_files(), path("diary"), ""); !made) {
                throw std::runtime_error{made.error().text};
            }
        } else {
            std::filesystem::rename(path("next"), path("base"));
            std::filesystem::rename(path("next.diary"), path("diary"));
        }
        outcome.failure = live(experiment, ++outcome.lives, outcome);
    }
    return outcome;
}

Outcome run_again(const Experiment& experiment, std::uint64_t number, std::size_t cut_number) {
    Life life{experiment, number};
    life.load();
    const auto cut = life.choose_cuts().at(cut_number);
    life.go_to(cut.position);
    Outcome outcome{.lives = 1, .cuts = 1, .records = life.records(), .promised = life.promised()};
    Found found;
    if (auto complaints = life.cut(cut.survival, found); !complaints.empty()) {
        outcome.failure = life.failure(cut, std::move(complaints));
    }
    return outcome;
}

} // namespace durable::power_cut
