// Facts: what the diary promises, what a look into the store finds, and whether they fit.
//
// Everything that the workload stores has a name of its own, a tag, that tells where it comes from:
//   "i1.0.2^"    the start of the instance i1.0.2     "r1.0.2.7"   a message from a client
//   "i1.0.2#3.1" a message sent by its third turn      "i1.0.2#3!1" an activity scheduled by it
//   "i1.0.2#3!1=" that activity's completion
// So one can tell from what is found alone whether a turn is there as a whole.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace durable::power_cut {

using Ids = std::set<std::string, std::less<>>;

// What a look into the store finds.
struct Found {
    struct Instance { // that has a history
        std::uint64_t turn = 0;
        std::map<std::string, std::string> sent; // tag, and for whom
        Ids scheduled;                           // activities
        bool operator==(const Instance&) const = default;
    };
    std::map<std::string, Instance> instances;
    std::map<std::string, int> messages; // how often the tag is queued or in a history
    Ids work;                            // activities in the queue of workers
    std::vector<std::string> flaws;      // what contradicts itself
    bool complete = false;               // the look came to its end

    // One fact a line.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] static Found parse(std::string_view text);
};

// What the diary says, up to some moment.
struct Expected {
    struct Instance {
        std::uint64_t promised = 0;  // turns that are durable
        std::uint64_t committed = 0; // turns that were acknowledged
        std::uint64_t tried = 0;
        bool erasing = false; // its deletion was asked for
        bool erased = false;  // and acknowledged, when it existed
        bool pruning = false; // the removal of its old executions was asked for
    };
    struct Message {
        std::string target;
        bool promised = false;
    };
    std::map<std::string, Instance, std::less<>> instances;
    std::map<std::string, Message, std::less<>> messages; // of clients, with starts
    Ids dropped;                                          // messages whose target had ended
    Ids done;                                             // activities whose end is durable
    Ids ending;                                           // activities whose end was asked for
    std::vector<std::vector<std::string>> together;       // to be deleted all or none

    // What must be there from now on when a cut has left that: a diary to begin with.
    [[nodiscard]] std::string notes_after(const Found& found) const;
};

// What is wrong: one sentence each.
[[nodiscard]] std::vector<std::string> judge(const Expected& expected, const Found& found);

// What calls say before and after they are made. A call that answers with an error says nothing.
class Diary {
 public:
    // Lines: "CALL try KIND WORD...", "CALL done". Throws std::runtime_error.
    //   message INSTANCE TAG   turn INSTANCE NUMBER   drop TAG...         activity TAG
    //   given INSTANCE NUMBER  erase INSTANCE...      prune INSTANCE      read
    // The ends of turns, drops and activities are durable when a later call of another kind is;
    // an activity that is given to a worker proves the turn that scheduled it.
    void take(std::string_view notes);

    [[nodiscard]] const Expected& expected() const noexcept { return expected_; }

 private:
    struct Call {
        std::string kind;
        std::vector<std::string> words;
        std::size_t before = 0; // of ended_: what had ended when it was made
    };
    void take_line(std::string_view line);
    void begin(const Call& call);
    void end(const Call& call);
    void promise(const Call& call);

    Expected expected_;
    std::map<std::string, Call, std::less<>> calls_; // under way
    std::vector<Call> ended_;                        // in order, durable with a later call
    std::size_t promised_ = 0;                       // of these
};

} // namespace durable::power_cut
