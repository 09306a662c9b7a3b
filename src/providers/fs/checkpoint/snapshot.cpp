#include "providers/fs/checkpoint/snapshot.hpp"

#include "base/try.hpp"
#include "providers/fs/format/frame.hpp"
#include "providers/fs/format/image_codec.hpp"

#include <utility>

namespace durable::fs {

Snapshot::Snapshot(ledger::Ledger& ledger, const std::vector<PackRecord>& packs)
    : rest_{ledger.rest()}, packs_{pack_frames(packs)}, pack_count_{packs.size()} {
    ledger.instances.start_walk();
}

// Encodes the instance unless this walk has visited it.
Result<>
Snapshot::encode_once(ledger::Ledger& ledger, ledger::Instance& instance, std::string& out) {
    if (instance.walked == ledger.instances.walks()) {
        return {};
    }
    instance.walked = ledger.instances.walks();
    if (instance.copy == ledger::Instance::Copy::made) {
        return {};
    }
    DURABLE_TRY(append_frame(
        out, [&](std::string& json) { return encode_image(json, ledger::image_of(instance)); }));
    ++instances_;
    return {};
}

Result<> Snapshot::keep(ledger::Ledger& ledger, const ledger::Record& record) {
    for (const auto& id : ledger::touched(ledger, record)) {
        if (auto* instance = ledger.instances.find_here(id)) {
            DURABLE_TRY(encode_once(ledger, *instance, kept_));
        }
    }
    return {};
}

Result<bool> Snapshot::encode_some(ledger::Ledger& ledger, std::string& out, std::size_t bytes) {
    if (!rest_encoded_) {
        rest_encoded_ = true;
        DURABLE_TRY(append_frame(out, [&](std::string& json) { return encode_rest(json, rest_); }));
        rest_ = {};
        out += std::exchange(packs_, {});
    }
    out += std::exchange(kept_, {});
    while (out.size() <= bytes) {
        auto* instance = ledger.instances.walk();
        if (instance == nullptr) {
            return false;
        }
        DURABLE_TRY(encode_once(ledger, *instance, out));
    }
    return true;
}

} // namespace durable::fs
