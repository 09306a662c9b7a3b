#include "day/day.hpp"

#include "day/orders.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <variant>

namespace durable::simulation {

namespace {

using namespace std::chrono_literals;

const Instant morning = from_epoch_ms(1'760'000'000'000);
const std::string directory = "/store";
const std::string watch_id = "watch-1";

bool ends_activity(const HistoryEvent& event, std::uint64_t id) {
    const bool end = std::holds_alternative<history::ActivityCompleted>(event.kind) ||
                     std::holds_alternative<history::ActivityFailed>(event.kind);
    return end && event.source_event_id == id;
}

void mix(std::uint64_t& digest, std::string_view text) {
    for (const char c : text) {
        digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
}

} // namespace

Day::Day(std::uint64_t seed, Duration length)
    : end_{morning + length},
      random_{seed},
      disk_{seed},
      clock_{std::make_shared<ManualClock>(morning)},
      jumps_{clock_->on_jump([this] { make_room(); })},
      watch_rounds_{static_cast<int>(length / 20min)} {}

void Day::run() {
    while (clock_->now() < end_ && complaints_.empty()) {
        if (open()) {
            live();
        }
        close();
    }
    disk_.restart(Survival::some);
    finish();
    counts_.calls = disk_.calls();
}

// ---- One life of the process

// False: a fault came in between.
bool Day::open() {
    plan_faults();
    const fs::Machine machine{.files = &disk_,
                              .random = std::make_shared<SeededRandom>(random_.next()),
                              .threads = false,
                              .segment_sizes = {.first = 1U << 13U, .largest = 1U << 14U},
                              .checkpoint_bytes = 1U << 14U,
                              .checkpoint_piece = 1U << 9U,
                              .pack_bytes = 1U << 12U,
                              .small_packs = 3,
                              .most_copies = 2};
    auto opened =
        fs::FsProvider::open(directory, {.clock = clock_, .unstarted_message_ttl = 48h}, machine);
    if (!opened) {
        if (opened.error().code == ErrorCode::corrupt) {
            complain("opening: " + opened.error().text());
        }
        return false;
    }
    ++counts_.lives;
    store_ = *std::move(opened);
    RuntimeOptions options;
    options.logger = silent_logger();
    options.max_attempts = 1'000'000; // a crash counts an attempt
    runtime_ = std::make_unique<TestRuntime>(
        make_registry([this](ActivityContext& ctx) { on_run(ctx); }),
        TestRuntime::Options{.runtime = options, .clock = clock_, .provider = store_});
    return true;
}

// Ends it: in good order, or by what the faults have made of it.
void Day::close() {
    const bool in_order = store_ != nullptr && !disk_.crashed() && roll(3) == 0;
    if (!in_order) {
        disk_.crash_at(disk_.calls());
    }
    counts_.crashes += in_order ? 0U : 1U;
    runtime_.reset();
    store_.reset();
    static constexpr Survival survivals[] = {
        Survival::nothing, Survival::everything, Survival::some, Survival::some};
    disk_.restart(survivals[roll(std::size(survivals))]);
    clock_->advance(std::chrono::seconds{roll(120)}); // until the operator starts it again
}

// An activity repeats for ever to store its result: room must come while it does.
void Day::make_room() {
    if (clock_->now() >= room_at_) {
        disk_.set_capacity(UINT64_MAX);
        disk_.refuse_writes(false);
    }
}

void Day::plan_faults() {
    room_at_ = clock_->now() + std::chrono::minutes{roll(20)};
    switch (roll(7)) {
    case 0:
        break; // a good life
    case 1:
    case 2:
        disk_.crash_at(disk_.calls() + roll(600));
        break;
    case 3:
        disk_.fail_at(disk_.calls() + roll(400), std::errc::io_error);
        break;
    case 4:
        disk_.set_capacity(disk_.used() + (1U << 13U) + roll(1U << 15U));
        break;
    case 5:
        disk_.set_fault_rates({.no_space = 20, .no_handles = 20, .short_write = 100});
        break;
    case 6:
        disk_.fail_at(disk_.calls() + roll(400), std::errc::no_space_on_device);
        break;
    }
}

// Until the store has failed, the machine has crashed, or it was long enough.
void Day::live() {
    look();
    const auto until = clock_->now() + std::chrono::minutes{1 + roll(15)};
    while (clock_->now() < until && clock_->now() < end_ && complaints_.empty()) {
        for (auto more = roll(5); more > 0; --more) {
            place_order();
        }
        runtime_->advance(std::chrono::seconds{1 + roll(200)});
        if (disk_.crashed()) {
            return;
        }
        if (const auto alive = store_->get_queue_depths();
            !alive && alive.error().code == ErrorCode::storage_failed) {
            ++counts_.failures;
            return;
        }
        if (roll(12) == 0) { // also where there was space before
            disk_.refuse_writes(true);
            room_at_ = clock_->now() + std::chrono::seconds{roll(600)};
        }
        if (roll(8) == 0) {
            runtime_->forget();
        }
    }
    look();
}

void Day::place_order() {
    const auto client = runtime_->client();
    if (!watching_) {
        const auto started =
            client.start(watch, watch_rounds_, {.id = watch_id, .existing = Existing::attach});
        watching_ = started.has_value();
        counts_.refused += started ? 0U : 1U;
    }
    const auto id = "order-" + std::to_string(orders_.size() + 1);
    auto& sent = orders_[id];
    if (!client.start(process_order, id, {.id = id, .existing = Existing::attach})) {
        ++counts_.refused; // and whether it was stored is unknown
        return;
    }
    sent.acknowledged = true;
    ++counts_.orders;
    if (roll(2) == 0) {
        const auto told = client.raise(id, paid, "in full");
        sent.payment = told ? Payment::sent : Payment::unknown;
        counts_.refused += told ? 0U : 1U;
    }
}

void Day::on_run(ActivityContext& ctx) {
    ++counts_.runs;
    // Reads wait for durability, so what is found here is recorded for good.
    if (const auto history = store_->read_with_execution(ctx.instance(), ctx.execution_id())) {
        const bool over = std::ranges::any_of(
            *history, [&](const HistoryEvent& event) { return ends_activity(event, ctx.id()); });
        if (over) {
            complain("activity " + std::to_string(ctx.id()) + " of " + ctx.instance() +
                     " runs after its end was recorded");
        }
    }
    if (!peace_ && roll(5) == 0) {
        throw std::runtime_error{"no luck"};
    }
    if (roll(10) == 0 && !ctx.sleep(std::chrono::seconds{roll(120)})) {
        throw std::runtime_error{"asked to stop"};
    }
}

// ---- What is stored only grows

void Day::look() {
    const auto ids = store_->list_instances();
    if (!ids) {
        return; // a fault; the next life looks again
    }
    for (const auto& [execution, events] : known_) {
        if (std::ranges::find(*ids, execution.first) == ids->end()) {
            complain(execution.first + " is lost");
        }
    }
    for (const auto& id : *ids) {
        look_at(id);
    }
}

void Day::look_at(const std::string& id) {
    const auto executions = store_->list_executions(id);
    if (!executions) {
        return;
    }
    for (const auto number : *executions) {
        auto history = store_->read_with_execution(id, number);
        if (!history) {
            return;
        }
        auto& known = known_[{id, number}];
        const bool grown = history->size() >= known.size() &&
                           std::equal(known.begin(), known.end(), history->begin());
        if (!grown) {
            complain("the history of " + id + " is not what it was");
        }
        known = *std::move(history);
    }
}

// ---- The end of the day

void Day::finish() {
    room_at_ = {};
    make_room();
    const fs::Machine machine{
        .files = &disk_, .random = std::make_shared<SeededRandom>(1), .threads = false};
    auto opened =
        fs::FsProvider::open(directory, {.clock = clock_, .unstarted_message_ttl = 48h}, machine);
    if (!opened) {
        complain("opening in the end: " + opened.error().text());
        return;
    }
    store_ = *std::move(opened);
    peace_ = true;
    RuntimeOptions options;
    options.logger = silent_logger();
    options.max_attempts = 1'000'000;
    runtime_ = std::make_unique<TestRuntime>(
        make_registry([this](ActivityContext& ctx) { on_run(ctx); }),
        TestRuntime::Options{.runtime = options, .clock = clock_, .provider = store_});
    look();
    runtime_->advance(48h);
    look();
    for (const auto& [id, sent] : orders_) {
        check_order(id, sent);
    }
    if (watching_) {
        const auto watched = runtime_->client().attach(watch, watch_id).wait(Duration::zero());
        if (!watched || *watched != watch_rounds_ + 1) {
            complain("the watch: " + (watched ? std::to_string(*watched) : watched.error().text()));
        }
    }
    digest_ = 0xcbf29ce484222325U;
    for (const auto& [execution, events] : known_) {
        for (const auto& event : events) {
            mix(digest_, encode(event).value_or("?"));
        }
    }
    runtime_.reset();
    store_.reset();
}

void Day::check_order(const std::string& id, const Sent& sent) {
    const auto client = runtime_->client();
    const auto status = client.status(id).value();
    if (status.status == RunStatus::not_found && !sent.acknowledged) {
        return;
    }
    const auto result = client.attach(process_order, id).wait(Duration::zero());
    if (!result) {
        complain(id + ": " + result.error().text());
        return;
    }
    const bool right_unpaid =
        sent.payment != Payment::sent && *result == expected_result(id, false);
    const bool right_paid = sent.payment != Payment::none && *result == expected_result(id, true);
    if (!right_unpaid && !right_paid) {
        complain(id + " ended with '" + *result + "'");
    }
    if (client.kv(id, "count").value() != std::to_string(expected_count)) {
        complain(id + " has not counted every step once");
    }
}

void Day::complain(const std::string& what) {
    const auto minutes = (clock_->now() - morning) / 1min;
    complaints_.push_back("after " + std::to_string(minutes) + " minutes, life " +
                          std::to_string(counts_.lives) + ": " + what);
}

} // namespace durable::simulation
