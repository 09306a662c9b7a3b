#include "power_cut/facts.hpp"

#include <sstream>
#include <utility>

namespace durable::power_cut {

namespace {

struct Origin { // of a message that a turn has sent, or of an activity
    std::string instance;
    std::uint64_t turn = 0;
};

bool of_client(std::string_view tag) {
    return !tag.contains('#');
}

Origin origin_of(const std::string& tag) {
    const auto hash = tag.find('#');
    return {.instance = tag.substr(0, hash), .turn = std::stoull(tag.substr(hash + 1))};
}

class Judgement {
 public:
    Judgement(const Expected& expected, const Found& found) : expected_{expected}, found_{found} {}

    std::vector<std::string> pass() {
        complaints_ = found_.flaws;
        if (!found_.complete) {
            complaints_.emplace_back("the look into the store did not come to its end");
        }
        if (!complaints_.empty()) {
            return complaints_; // what was not looked at is not lost
        }
        judge_messages();
        judge_instances();
        judge_turns();
        for (const auto& tag : expected_.done) {
            if (found_.work.contains(tag) && !state_of(origin_of(tag).instance).erasing) {
                complain("lost: the end of activity " + tag);
            }
        }
        return complaints_;
    }

 private:
    void complain(std::string text) { complaints_.push_back(std::move(text)); }

    [[nodiscard]] const Expected::Instance& state_of(std::string_view instance) const {
        static const Expected::Instance none;
        const auto found = expected_.instances.find(instance);
        return found == expected_.instances.end() ? none : found->second;
    }
    [[nodiscard]] int times(const std::string& tag) const {
        const auto found = found_.messages.find(tag);
        return found == found_.messages.end() ? 0 : found->second;
    }
    // It may have gone together with its target.
    [[nodiscard]] bool may_be_gone(const std::string& tag, const std::string& target) const {
        const auto& state = state_of(target);
        return state.erasing || state.pruning || expected_.dropped.contains(tag);
    }
    [[nodiscard]] bool has_turn(const Origin& origin) const {
        const auto found = found_.instances.find(origin.instance);
        return state_of(origin.instance).erasing ||
               (found != found_.instances.end() && found->second.turn >= origin.turn);
    }

    void judge_messages() {
        for (const auto& [tag, message] : expected_.messages) {
            if (message.promised && times(tag) == 0 && !may_be_gone(tag, message.target)) {
                complain("lost: message " + tag + " for " + message.target);
            }
        }
        for (const auto& [tag, times] : found_.messages) {
            const bool completion = tag.ends_with('=');
            if (times > 1) {
                complain("twice: message " + tag);
            }
            if (of_client(tag)
                    ? !expected_.messages.contains(tag)
                    : (completion && !expected_.ending.contains(tag.substr(0, tag.size() - 1)))) {
                complain("from nowhere: message " + tag);
            }
            if (!of_client(tag) && !has_turn(origin_of(tag))) {
                complain("half there: message " + tag + " without its turn");
            }
        }
        for (const auto& tag : found_.work) {
            if (!has_turn(origin_of(tag))) {
                complain("half there: activity " + tag + " without its turn");
            }
        }
    }

    void judge_instances() {
        for (const auto& [id, state] : expected_.instances) {
            const auto found = found_.instances.find(id);
            const bool here = found != found_.instances.end();
            if (state.erased && here) {
                complain("back again: instance " + id + ", deleted");
            } else if (here ? found->second.turn < state.promised
                            : state.promised > 0 && !state.erasing) {
                complain("lost: turn " + std::to_string(state.promised) + " of " + id + ", found " +
                         (here ? std::to_string(found->second.turn) : "nothing"));
            }
        }
        for (const auto& [id, instance] : found_.instances) {
            if (instance.turn > state_of(id).tried) {
                complain("from nowhere: turn " + std::to_string(instance.turn) + " of " + id);
            }
        }
        for (const auto& group : expected_.together) {
            std::size_t here = 0;
            std::size_t whole = 0;
            for (const auto& id : group) {
                here += found_.instances.contains(id) ? 1U : 0U;
                whole += state_of(id).promised > 0 ? 1U : 0U;
            }
            if (whole == group.size() && here != 0 && here != whole) {
                complain("half there: the deletion of " + group.front() + " with others");
            }
        }
    }

    // Each turn that is there has sent its messages and scheduled its activities.
    void judge_turns() {
        for (const auto& [id, instance] : found_.instances) {
            for (const auto& [tag, target] : instance.sent) {
                if (times(tag) == 0 && !may_be_gone(tag, target)) {
                    complain("half there: a turn of " + id + " without its message " + tag);
                }
            }
            for (const auto& tag : instance.scheduled) {
                const auto completions = times(tag + "=");
                const bool queued = found_.work.contains(tag);
                if (queued && completions > 0) {
                    complain("half there: activity " + tag + " has ended and is queued");
                } else if (!queued && completions == 0 && !may_be_gone(tag + "=", id)) {
                    complain("lost: activity " + tag);
                }
            }
        }
    }

    const Expected& expected_;
    const Found& found_;
    std::vector<std::string> complaints_;
};

} // namespace

std::vector<std::string> judge(const Expected& expected, const Found& found) {
    return Judgement{expected, found}.pass();
}

std::string Expected::notes_after(const Found& found) const {
    std::ostringstream notes;
    std::size_t calls = 0;
    const auto note_try = [&](const std::string& what) {
        notes << "before." << ++calls << " try " << what << '\n';
    };
    const auto note_done = [&](const std::string& what) {
        note_try(what);
        notes << "before." << calls << " done\n";
    };
    for (const auto& [id, state] : instances) {
        if (state.pruning) {
            note_try("prune " + id);
        }
        // It is gone, or was never there: its start, if it waits, makes it one day.
        if (state.erasing && !found.instances.contains(id) && !found.messages.contains(id + "^")) {
            note_done("turn " + id + " 1");
            note_done("erase " + id);
        }
    }
    for (const auto& [id, instance] : found.instances) {
        note_done("turn " + id + " " + std::to_string(instance.turn));
    }
    for (const auto& tag : dropped) {
        if (!found.messages.contains(tag)) {
            note_try("drop " + tag);
        }
    }
    for (const auto& [tag, message] : messages) {
        if (found.messages.contains(tag)) {
            note_done("message " + message.target + " " + tag);
        }
    }
    for (const auto& [tag, times] : found.messages) {
        if (tag.ends_with('=')) {
            note_done("activity " + tag.substr(0, tag.size() - 1));
        }
    }
    note_done("read"); // a power cut leaves nothing that is not durable
    return notes.str();
}

} // namespace durable::power_cut
