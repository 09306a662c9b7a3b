#include "providers/fs/snapshot.hpp"

#include "base/try.hpp"
#include "providers/fs/frame.hpp"
#include "providers/fs/image_codec.hpp"

namespace durable::fs {

namespace {

Result<> append_frame(std::string& out, const ledger::Instance& instance) {
    const auto begin = begin_frame(out);
    DURABLE_TRY(encode_image(out, ledger::image_of(instance)));
    end_frame(out, begin);
    return {};
}

} // namespace

Snapshot::Snapshot(ledger::Ledger& ledger)
    : rest_{ledger.rest()}, end_{ledger.instances.next_incarnation()} {
    ledger.instances.start_walk();
}

Result<> Snapshot::keep(ledger::Ledger& ledger, const ledger::Record& record) {
    for (const auto& id : ledger::touched(ledger, record)) {
        const auto* instance = ledger.instances.find(id);
        if (instance == nullptr || instance->incarnation <= met_ || instance->incarnation >= end_) {
            continue;
        }
        if (const auto [kept, fresh] = kept_.try_emplace(instance->incarnation); fresh) {
            DURABLE_TRY(append_frame(kept->second, *instance));
        }
    }
    return {};
}

Result<bool> Snapshot::encode_some(ledger::Ledger& ledger, std::string& out, std::size_t bytes) {
    if (!rest_encoded_) {
        rest_encoded_ = true;
        const auto begin = begin_frame(out);
        DURABLE_TRY(encode_rest(out, rest_));
        end_frame(out, begin);
        rest_ = {};
    }
    while (out.size() <= bytes) {
        const auto* instance = ledger.instances.walk();
        if (instance == nullptr || instance->incarnation >= end_) {
            put_kept_below(end_, out);
            return false;
        }
        DURABLE_TRY(encode_next(*instance, out));
    }
    return true;
}

Result<> Snapshot::encode_next(const ledger::Instance& instance, std::string& out) {
    put_kept_below(instance.incarnation + 1, out);
    if (met_ == instance.incarnation) {
        return {}; // it was kept as it was
    }
    met_ = instance.incarnation;
    ++instances_;
    return append_frame(out, instance);
}

void Snapshot::put_kept_below(std::uint64_t incarnation, std::string& out) {
    while (!kept_.empty() && kept_.begin()->first < incarnation) {
        met_ = kept_.begin()->first;
        out += kept_.begin()->second;
        kept_.erase(kept_.begin());
        ++instances_;
    }
}

} // namespace durable::fs
