#include "power_cut/facts.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace durable::power_cut {

namespace {

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    std::istringstream in{std::string{line}};
    for (std::string word; in >> word;) {
        words.push_back(word);
    }
    return words;
}

} // namespace

// ---- What is found, as text

std::string Found::text() const {
    std::ostringstream out;
    for (const auto& [id, instance] : instances) {
        out << "instance " << id << ' ' << instance.turn << '\n';
        for (const auto& [tag, target] : instance.sent) {
            out << "sent " << id << ' ' << target << ' ' << tag << '\n';
        }
        for (const auto& tag : instance.scheduled) {
            out << "scheduled " << id << ' ' << tag << '\n';
        }
    }
    for (const auto& [tag, times] : messages) {
        out << "message " << tag << ' ' << times << '\n';
    }
    for (const auto& tag : work) {
        out << "work " << tag << '\n';
    }
    for (const auto& flaw : flaws) {
        out << "flaw " << flaw << '\n';
    }
    if (complete) {
        out << "complete\n";
    }
    return out.str();
}

Found Found::parse(std::string_view text) {
    Found found;
    std::istringstream in{std::string{text}};
    for (std::string line; std::getline(in, line);) {
        const auto words = words_of(line);
        if (line == "complete") {
            found.complete = true;
        } else if (line.starts_with("flaw ")) {
            found.flaws.push_back(line.substr(5));
        } else if (words.size() == 3 && words[0] == "instance") {
            found.instances[words[1]].turn = std::stoull(words[2]);
        } else if (words.size() == 4 && words[0] == "sent") {
            found.instances[words[1]].sent[words[3]] = words[2];
        } else if (words.size() == 3 && words[0] == "scheduled") {
            found.instances[words[1]].scheduled.insert(words[2]);
        } else if (words.size() == 3 && words[0] == "message") {
            found.messages[words[1]] = std::stoi(words[2]);
        } else if (words.size() == 2 && words[0] == "work") {
            found.work.insert(words[1]);
        } else {
            found.flaws.push_back("the look says: " + line);
        }
    }
    return found;
}

// ---- The diary

void Diary::take(std::string_view notes) {
    while (!notes.empty()) {
        const auto end = notes.find('\n');
        take_line(notes.substr(0, end));
        notes.remove_prefix(end == std::string_view::npos ? notes.size() : end + 1);
    }
}

void Diary::take_line(std::string_view line) {
    const auto words = words_of(line);
    if (words.size() >= 3 && words[1] == "try") {
        Call call{
            .kind = words[2], .words = {words.begin() + 3, words.end()}, .before = ended_.size()};
        begin(call);
        if (call.kind == "erase") { // of one that does not exist yet it says nothing
            std::erase_if(call.words,
                          [&](const auto& id) { return expected_.instances[id].committed == 0; });
        }
        calls_.insert_or_assign(words[0], std::move(call));
    } else if (const auto found =
                   words.size() == 2 && words[1] == "done" ? calls_.find(words[0]) : calls_.end();
               found != calls_.end()) {
        const auto call = std::move(found->second);
        calls_.erase(found);
        end(call);
    } else {
        throw std::runtime_error{"the diary cannot be read: " + std::string{line}};
    }
}

void Diary::begin(const Call& call) {
    const auto& words = call.words;
    if (call.kind == "message") {
        expected_.messages[words.at(1)].target = words.at(0);
    } else if (call.kind == "turn") {
        auto& tried = expected_.instances[words.at(0)].tried;
        tried = std::max<std::uint64_t>(tried, std::stoull(words.at(1)));
    } else if (call.kind == "drop") {
        expected_.dropped.insert(words.begin(), words.end());
    } else if (call.kind == "activity") {
        expected_.ending.insert(words.at(0));
    } else if (call.kind == "prune") {
        expected_.instances[words.at(0)].pruning = true;
    } else if (call.kind == "erase") {
        for (const auto& id : words) {
            expected_.instances[id].erasing = true;
        }
        expected_.together.push_back(words);
    }
}

void Diary::end(const Call& call) {
    if (call.kind == "turn" || call.kind == "activity" || call.kind == "drop") {
        if (call.kind == "turn") {
            auto& committed = expected_.instances[call.words.at(0)].committed;
            committed = std::max<std::uint64_t>(committed, std::stoull(call.words.at(1)));
        }
        ended_.push_back(call);
        return;
    }
    promise(call);
    if (call.kind != "given") {
        for (; promised_ < call.before; ++promised_) {
            promise(ended_[promised_]);
        }
    }
}

void Diary::promise(const Call& call) {
    const auto& words = call.words;
    if (call.kind == "message") {
        expected_.messages.at(words.at(1)).promised = true;
    } else if (call.kind == "turn" || call.kind == "given") {
        auto& promised = expected_.instances[words.at(0)].promised;
        promised = std::max<std::uint64_t>(promised, std::stoull(words.at(1)));
    } else if (call.kind == "activity") {
        expected_.done.insert(words.at(0));
    } else if (call.kind == "erase") {
        for (const auto& id : words) {
            expected_.instances[id].erased = true;
        }
    }
}

} // namespace durable::power_cut
