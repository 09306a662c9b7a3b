#include "providers/ledger/shorthand.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace durable::ledger {

namespace {

constexpr char escape = 0x1f; // the next byte is meant literally

// The word with index i is written as the byte i + 1. They begin with a comma and the name of a
// member, except for the first. Those with the same letter stand together, the longer one of two
// that begin alike first.
constexpr std::array<std::string_view, 30> words{
    R"({"event_id":)",
    R"(,"execution_id":)",
    R"(,"source_event_id":null,"instance_id":")",
    R"(,"source_event_id":)",
    R"(,"instance_id":")",
    R"(,"input":")",
    R"(,"instance":")",
    R"(,"timestamp_ms":)",
    R"(,"type":"OrchestrationStarted","name":")",
    R"(,"type":"OrchestrationCompleted","output":")",
    R"(,"type":"ActivityScheduled","name":")",
    R"(,"type":"ActivityCompleted","result":")",
    R"(,"type":"TimerCreated","fire_at_ms":)",
    R"(,"type":"TimerFired","fire_at_ms":)",
    R"(,"type":"ExternalSubscribed","name":")",
    R"(,"type":"ExternalEvent","name":")",
    R"(,"type":"SubOrchestrationScheduled","name":")",
    R"(,"type":"SubOrchestrationCompleted","result":")",
    R"(,"type":")",
    R"(,"turn":)",
    R"(,"duroxide_version":")",
    R"(,"data":")",
    R"(,"version":"1.0.0","input":")",
    R"(,"version":")",
    R"(,"parent_instance":null,"parent_id":null)",
    R"(,"parent_instance":")",
    R"(,"parent_id":)",
    R"(,"parent_execution_id":)",
    R"(,"location":")",
    R"(,"name":")",
};

// Where to look for a word, by the first letter of its member.
struct Candidates {
    std::uint8_t first = 0;
    std::uint8_t last = 0; // not included
};

constexpr std::size_t letter_at = 2;

constexpr auto by_letter = [] {
    std::array<Candidates, 128> table{};
    for (std::size_t index = 0; index < words.size(); ++index) {
        auto& entry = table.at(static_cast<unsigned char>(words.at(index).at(letter_at)));
        if (entry.last == 0) {
            entry.first = static_cast<std::uint8_t>(index);
        }
        entry.last = static_cast<std::uint8_t>(index + 1);
    }
    return table;
}();

// The index of the word that `text` begins with; words.size() when there is none.
std::size_t word_at(std::string_view text) {
    if (text.size() <= letter_at) {
        return words.size();
    }
    const auto letter = static_cast<unsigned char>(text[letter_at]);
    if (letter >= by_letter.size()) {
        return words.size();
    }
    for (std::size_t index = by_letter[letter].first; index < by_letter[letter].last; ++index) {
        if (text.starts_with(words[index])) {
            return index;
        }
    }
    return words.size();
}

bool is_control(char byte) {
    return static_cast<unsigned char>(byte) < 0x20;
}

} // namespace

void append_shorthand(std::string& out, std::string_view text) {
    std::size_t copied = 0;
    std::size_t at = 0;
    const auto copy = [&] { out.append(text, copied, at - copied); };
    while (at < text.size()) {
        const char byte = text[at];
        if (byte == ',' || byte == '{') {
            const auto word = word_at(text.substr(at));
            if (word < words.size()) {
                copy();
                out += static_cast<char>(word + 1);
                at += words[word].size();
                copied = at;
                continue;
            }
        } else if (is_control(byte)) {
            copy();
            out += escape;
            copied = at; // the byte itself follows with the next run
        }
        ++at;
    }
    copy();
}

void append_expanded(std::string& out, std::string_view shorthand) {
    std::size_t copied = 0;
    for (std::size_t at = 0; at < shorthand.size(); ++at) {
        const char byte = shorthand[at];
        if (!is_control(byte)) {
            continue;
        }
        out.append(shorthand, copied, at - copied);
        if (byte == escape) {
            ++at; // the escaped byte
            copied = at;
        } else {
            out += words[static_cast<std::size_t>(byte) - 1];
            copied = at + 1;
        }
    }
    out.append(shorthand, copied, std::string_view::npos);
}

} // namespace durable::ledger
