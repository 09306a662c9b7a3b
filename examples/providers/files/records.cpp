#include "records.hpp"

#include <durable/codec.hpp>

#include <charconv>
#include <cstddef>
#include <functional>
#include <ranges>
#include <set>
#include <string_view>

namespace files_store {

namespace {

constexpr std::size_t longest_name = 120;

std::string digits_of(std::uint64_t number, unsigned base, std::size_t width) {
    std::string digits;
    for (; number > 0 || digits.size() < width; number /= base) {
        digits.insert(digits.begin(), "0123456789ABCDEF"[number % base]);
    }
    return digits;
}

// An id is any text, a file name is not: what is no letter of either case, digit, '_' or '-' is
// written as %XX. Of a long one the beginning stays, for people, and a hash of all of it.
std::string file_name_of(const std::string& id) {
    std::string name;
    std::uint64_t hash = 14'695'981'039'346'656'037U; // FNV-1a: the same on every machine
    for (const auto c : id) {
        const auto byte = static_cast<unsigned char>(c);
        hash = (hash ^ byte) * 1'099'511'628'211U;
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '_' || c == '-';
        if (name.size() <= longest_name) {
            name += plain ? std::string{c} : "%" + digits_of(byte, 16, 2);
        }
    }
    if (name.size() > longest_name) {
        return name.substr(0, longest_name) + "~" + digits_of(hash, 16, 16);
    }
    return name.empty() ? "%" : name;
}

std::uint64_t leading_number(std::string_view text) {
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

// The codec writes it first. Text, not JSON: a commit never parses what is stored (P8).
std::uint64_t event_id_of(std::string_view line) {
    constexpr std::string_view beginning = R"({"event_id":)";
    return line.starts_with(beginning) ? leading_number(line.substr(beginning.size())) : 0;
}

template <class T>
T value(Result<T> result) {
    if (!result) {
        refuse(result.error().code, result.error().message);
    }
    return *std::move(result);
}

} // namespace

void check_text(const std::string& text) {
    (void)value(encode(WorkItem{work::ExternalRaised{.data = text}})); // text is what it may carry
}

std::string path_of(const std::string& instance) {
    return "instances/" + file_name_of(instance);
}

std::string path_of(const std::string& instance, std::uint64_t execution) {
    return path_of(instance) + "/exec_" + std::to_string(execution);
}

std::map<std::string, std::string> Values::merged() const {
    std::map<std::string, std::string> all;
    for (const auto& layer : {kept, changed}) {
        for (const auto& [key, entry] : layer) {
            if (entry.value) {
                all[key] = *entry.value;
            } else {
                all.erase(key);
            }
        }
    }
    return all;
}

std::vector<Meta> Records::all_metas() const {
    std::vector<Meta> all;
    for (const auto& name : directory_.list("instances")) {
        if (auto meta = read<Meta>("instances/" + name + "/meta.json")) {
            all.push_back(*std::move(meta));
        }
    }
    std::ranges::sort(all, std::ranges::greater{}, &Meta::created);
    return all;
}

std::optional<Execution> Records::execution(const std::string& id, std::uint64_t n) const {
    return read<Execution>(path_of(id, n) + "/status.json");
}

std::map<std::uint64_t, Execution> Records::executions(const std::string& id) const {
    std::map<std::uint64_t, Execution> all;
    for (const auto& name : directory_.list(path_of(id))) {
        if (name.starts_with("exec_")) {
            const auto n = leading_number(std::string_view{name}.substr(5));
            all[n] = execution(id, n).value_or(Execution{});
        }
    }
    return all;
}

std::map<std::uint64_t, Execution> Records::committed(const std::string& id) const {
    auto all = executions(id);
    std::erase_if(all, [](const auto& entry) { return entry.second.status.empty(); });
    return all;
}

std::uint64_t Records::latest(const std::string& id) const {
    const auto all = committed(id);
    return all.empty() ? 1 : all.rbegin()->first;
}

Records::Events Records::events(const std::string& id, std::uint64_t n) const {
    Events found;
    const auto record = execution(id, n).value_or(Execution{});
    const auto text = directory_.read(path_of(id, n) + "/history.jsonl").value_or("");
    for (const auto line : std::views::split(std::string_view{text}, '\n')) {
        if (found.size() < record.events) {
            const std::string_view event{line};
            found.emplace_back(event_id_of(event), event);
        }
    }
    if (found.size() < record.events) {
        refuse(ErrorCode::corrupt, path_of(id, n) + "/history.jsonl is too short");
    }
    std::ranges::sort(found, {}, &Events::value_type::first);
    return found;
}

std::vector<HistoryEvent> Records::history(const std::string& id, std::uint64_t n) const {
    std::vector<HistoryEvent> decoded;
    for (const auto& [event, text] : events(id, n)) {
        decoded.push_back(value(decode_event(text)));
    }
    return decoded;
}

void Records::append(Change& change,
                     const std::string& id,
                     std::uint64_t n,
                     Execution& execution,
                     const std::vector<HistoryEvent>& events) const {
    std::set<std::uint64_t> taken{0};
    // Ids ascend, as a rule; then nothing stored needs to be looked at.
    if (!events.empty() && std::ranges::min(events, {}, &HistoryEvent::event_id).event_id <=
                               execution.highest_event_id) {
        for (const auto& [event, text] : this->events(id, n)) {
            taken.insert(event);
        }
    }
    std::string text;
    const auto end = execution.bytes + execution.events;
    for (const auto& event : events) {
        if (!taken.insert(event.event_id).second) {
            refuse(ErrorCode::invalid_argument,
                   "event id " + std::to_string(event.event_id) + " is 0 or taken");
        }
        const auto line = value(encode(event));
        text += line + "\n";
        execution.bytes += line.size();
        ++execution.events;
        execution.highest_event_id = std::max(execution.highest_event_id, event.event_id);
    }
    if (!text.empty()) {
        change.push_back({.file = path_of(id, n) + "/history.jsonl", .text = text, .at = end});
    }
}

std::optional<Queued> Records::item(const char* queue, const std::string& name, Millis now) {
    Queued found{.file = std::string{"queues/"} + queue + "/" + name,
                 .number = leading_number(name)};
    auto text = directory_.read(found.file).value_or("");
    const auto end = std::min(text.find('\n'), text.size());
    auto about = from_payload<Envelope>(std::string_view{text}.substr(0, end));
    found.text = text.substr(about ? std::min(end + 1, text.size()) : 0);
    const auto set_aside = [&](const std::string& reason) {
        std::optional<std::string> instance;
        if (about && !about->instance.empty()) {
            instance = about->instance;
        }
        quarantine(found, {.queue = queue, .instance = instance, .reason = reason, .at_ms = now});
        return std::nullopt;
    };
    if (!about) {
        return set_aside(about.error().message);
    }
    found.about = *about;
    auto item = decode_work_item(found.text);
    if (!item) {
        return set_aside(item.error().message);
    }
    found.item = *std::move(item);
    if (found.is<work::ActivityExecute>() != (queue == std::string_view{worker_queue})) {
        return set_aside(std::string{type_name(found.item)} + " is in the wrong queue");
    }
    if (!about->instance.empty() && target_instance(found.item) != about->instance) {
        return set_aside("it is for instance \"" + target_instance(found.item) + "\"");
    }
    return found;
}

std::vector<Queued> Records::items(const char* queue, Millis now) {
    std::vector<Queued> all;
    for (const auto& name : this->queue(queue)) {
        if (auto found = item(queue, name, now)) {
            all.push_back(*std::move(found));
        }
    }
    return all;
}

Step Records::enqueue(const char* queue, const WorkItem& item, Millis now, Millis due) {
    const bool activity = std::holds_alternative<work::ActivityExecute>(item);
    if (activity != (queue == std::string_view{worker_queue})) {
        refuse(ErrorCode::invalid_argument,
               std::string{type_name(item)} + " does not belong into the " + queue + " queue");
    }
    const auto& instance = target_instance(item);
    const auto number = directory_.next_number();
    const Queued queued{
        .file = std::string{"queues/"} + queue + "/" + digits_of(number, 10, 12) + "." +
                std::string{type_name(item)} + "." + file_name_of(instance) + ".json",
        .number = number,
        .about = {.instance = instance, .arrived_at_ms = std::max(now, due), .delayed = due > now},
        .text = value(encode(item)),
        .item = item};
    return store(queued);
}

Step Records::store(const Queued& item) {
    return {.file = item.file, .text = to_payload(item.about) + "\n" + item.text};
}

// Two changes. A crash between them leaves the item in both places, and it is set aside again,
// under the same name.
void Records::quarantine(const Queued& item, const Quarantined& about) {
    const auto name = item.file.substr(item.file.rfind('/'));
    directory_.change(
        {{.file = "quarantine" + name, .text = to_payload(about) + "\n" + item.text}});
    directory_.change({removal(item.file)});
}

} // namespace files_store
