#include "validation/support/show.hpp"

#include <cstddef>

namespace durable::validation {

std::string show(bool value) {
    return value ? "true" : "false";
}

std::string show(std::string_view text) {
    constexpr std::size_t most = 200;
    std::string shown = "\"";
    shown += text.substr(0, most);
    shown += '"';
    if (text.size() > most) {
        shown += " (" + std::to_string(text.size()) + " bytes)";
    }
    return shown;
}

std::string show(Duration duration) {
    return std::to_string(duration.count()) + " ms";
}

std::string show(Instant instant) {
    return std::to_string(to_epoch_ms(instant)) + " ms since 1970";
}

std::string show(const Version& version) {
    return version.text();
}

std::string show(const Error& error) {
    return std::string{name_of(error.code)} + " (" + error.text() + ")";
}

std::string show(const WorkItem& item) {
    return std::string{type_name(item)} + " for " + show(target_instance(item));
}

std::string show(const HistoryEvent& event) {
    return std::string{type_name(event.kind)} + "#" + std::to_string(event.event_id);
}

std::string show(const KvEntry& entry) {
    return show(entry.value) + " of " + std::to_string(entry.last_updated_at_ms);
}

std::string show(const CustomStatus& status) {
    return show(status.status) + " v" + std::to_string(status.version);
}

std::string show(const Parked& parked) {
    return show(parked.reason) + " since " + show(parked.since);
}

std::string show(const ParkedWork& work) {
    return std::string{work.kind == ParkedWork::Kind::turn ? "turn" : "activity"} + " of " +
           show(work.instance) + " needs " + show(work.name) + " " + show(work.version) +
           " attempts " + std::to_string(work.attempts) + " since " + show(work.since) +
           " because " + show(work.reason);
}

std::string show(std::nullopt_t) {
    return "nothing";
}

} // namespace durable::validation
