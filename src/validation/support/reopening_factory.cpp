#include "validation/support/forwarding_factory.hpp"
#include "validation/support/redirecting_provider.hpp"

#include <durable/validation.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <utility>

namespace durable::validation {

namespace {

// Counts the stores made: hooks act on the latest one, so an earlier one must not reopen.
using Generation = std::shared_ptr<std::atomic<std::uint64_t>>;

// Closes and opens its store before a call, when no other call is running and no lease or session
// would be lost by it.
class ReopeningProvider final : public RedirectingProvider {
 public:
    ReopeningProvider(Factory& factory, std::shared_ptr<Provider> store, Generation latest)
        : RedirectingProvider{*store},
          factory_{factory},
          latest_{std::move(latest)},
          generation_{latest_->load()},
          store_{std::move(store)} {}

    Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = RedirectingProvider::fetch_orchestration_item(request);
        if (turn && *turn) {
            hold((*turn)->lock_token, request.one_suspect);
        }
        return turn;
    }
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        return ended(commit.lock_token, RedirectingProvider::ack_orchestration_item(commit));
    }
    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        return ended(abandon.lock_token, RedirectingProvider::abandon_orchestration_item(abandon));
    }
    Result<std::optional<WorkLease>> fetch_work_item(const FetchWork& request) override {
        auto work = RedirectingProvider::fetch_work_item(request);
        if (work && *work) {
            hold((*work)->lock_token, request.one_suspect);
            if ((*work)->item.session_id) {
                hold("session"); // never released: sessions only expire
            }
        }
        return work;
    }
    Result<> ack_work_item(const std::string& lock_token,
                           const std::optional<WorkItem>& completion) override {
        return ended(lock_token, RedirectingProvider::ack_work_item(lock_token, completion));
    }
    Result<> abandon_work_item(const std::string& lock_token,
                               std::optional<Duration> delay,
                               bool ignore_attempt) override {
        return ended(lock_token,
                     RedirectingProvider::abandon_work_item(lock_token, delay, ignore_attempt));
    }

 protected:
    Result<std::shared_ptr<Provider>> target() override {
        if (const std::unique_lock alone{in_use_, std::try_to_lock}; alone && may_reopen()) {
            store_.reset(); // Factory::reopen: nothing may hold the old store
            auto reopened = factory_.reopen();
            if (!reopened) {
                return std::unexpected{std::move(reopened).error()};
            }
            store_ = *std::move(reopened);
        }
        auto in_call = std::make_shared<std::shared_lock<std::shared_mutex>>(in_use_);
        if (store_ == nullptr) {
            return fail(ErrorCode::storage_failed, "the store could not be opened again");
        }
        return std::shared_ptr<Provider>{std::move(in_call), store_.get()};
    }

 private:
    bool may_reopen() {
        const std::scoped_lock lock{held_mutex_};
        const bool current = generation_ == latest_->load();
        return current && watched_.empty() && (held_.empty() || factory_.leases_survive_reopen());
    }
    void hold(const std::string& token, bool one_suspect = false) {
        const std::scoped_lock lock{held_mutex_};
        held_.insert(token);
        if (one_suspect) {
            watched_.insert(token);
        }
    }
    Result<> ended(const std::string& token, Result<> result) {
        if (result || result.error().code == ErrorCode::lock_lost) {
            const std::scoped_lock lock{held_mutex_};
            held_.erase(token);
            watched_.erase(token);
        }
        return result;
    }

    Factory& factory_;
    const Generation latest_;
    const std::uint64_t generation_;
    std::shared_mutex in_use_; // shared by calls, taken alone to reopen
    std::shared_ptr<Provider> store_;
    std::mutex held_mutex_;
    std::set<std::string> held_; // tokens that a reopen would invalidate
    // Leases of fetches with one_suspect. P16 is kept by one provider object: a reopen forgets
    // them.
    std::set<std::string> watched_;
};

class ReopeningFactory final : public ForwardingFactory {
 public:
    using ForwardingFactory::ForwardingFactory;

    Result<std::shared_ptr<Provider>> create() override {
        auto store = inner().create();
        if (!store) {
            return store;
        }
        ++*latest_;
        return std::make_shared<ReopeningProvider>(inner(), *std::move(store), latest_);
    }

    // The caller has dropped the old decorator, as Factory::reopen demands, so nothing holds the
    // old store.
    Result<std::shared_ptr<Provider>> reopen() override {
        auto store = inner().reopen();
        if (!store) {
            return store;
        }
        ++*latest_;
        return std::make_shared<ReopeningProvider>(inner(), *std::move(store), latest_);
    }

 private:
    Generation latest_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

} // namespace

std::unique_ptr<Factory> reopening_factory(Factory& factory) {
    return std::make_unique<ReopeningFactory>(factory);
}

} // namespace durable::validation
