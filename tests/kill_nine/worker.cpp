#include "kill_nine/worker.hpp"

#include "kill_nine/diary.hpp"
#include "kill_nine/orders.hpp"
#include "providers/fs/fs_provider.hpp"

#include <durable/codec.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

namespace durable::kill_nine {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t clients = 2;
constexpr std::size_t in_flight = 12; // of each
constexpr std::uint64_t kept_lives = 3;

template <class T>
T must(Result<T> result, std::string_view what) {
    if (!result) {
        throw std::runtime_error{std::string{what} + ": " + result.error().text()};
    }
    return *std::move(result);
}

// Half of the lives use what users get, the others meet the ends of segments, checkpoints and packs
// often.
std::shared_ptr<fs::FsProvider> open_store(const Life& life) {
    fs::Machine machine;
    if (life.number % 2 == 1) {
        machine.segment_sizes = {.first = 1U << 16U, .largest = 1U << 17U};
        machine.checkpoint_bytes = 1U << 17U;
        machine.checkpoint_piece = 1U << 12U;
        machine.pack_bytes = 1U << 14U;
        machine.small_packs = 3;
        machine.most_copies = 8;
    }
    // A process crash spares what was written, synced or not.
    const bool sync = life.number % 4 < 2;
    fs::Options options;
    options.durability = sync ? Durability::power_loss : Durability::process_crash;
    return must(fs::FsProvider::open(life.store(), options, machine), "open");
}

// ---- The look into the store, before anything runs

struct Found {
    std::vector<std::string> open;  // orders that have not ended
    std::vector<std::string> ended; // of lives long ago
};

// The steps of a history by the number of their event; writes down which are scheduled and done.
std::map<std::uint64_t, std::string> look_at_history(const std::vector<HistoryEvent>& history,
                                                     Diary& diary) {
    std::map<std::uint64_t, std::string> steps;
    for (const auto& event : history) {
        if (const auto* step = std::get_if<history::ActivityScheduled>(&event.kind)) {
            const auto name = from_payload<std::string>(step->input).value();
            steps[event.event_id] = name;
            diary.note(entry::scheduled, order_of(name), step_of(name));
        } else if (std::holds_alternative<history::ActivityCompleted>(event.kind)) {
            const auto& name = steps.at(event.source_event_id.value());
            diary.note(entry::recorded, order_of(name), step_of(name));
        }
    }
    return steps;
}

// Ends of steps that are stored and wait for the orchestration's next turn.
void look_at_messages(const ledger::InstanceImage& image,
                      const std::map<std::uint64_t, std::string>& steps,
                      Diary& diary) {
    for (const auto& waiting : image.messages) {
        const auto item = must(decode_work_item(waiting.message.text), "decode");
        if (const auto* done = std::get_if<work::ActivityCompleted>(&item)) {
            const auto& name = steps.at(done->id);
            diary.note(entry::recorded, order_of(name), step_of(name));
        }
    }
}

std::uint64_t life_of(const std::string& order) { // "order-3-7" is of life 3
    return std::stoull(order.substr(order.find('-') + 1));
}

Found look(fs::FsProvider& store, const Client& client, const Life& life, Diary& diary) {
    Found found;
    const auto state = store.state();
    std::map<std::string, const ledger::InstanceImage*> instances;
    const auto listed = must(store.list_instances(), "list_instances");
    for (const auto& id : listed) {
        instances[id] = nullptr;
    }
    for (const auto& image : state.instances) { // also those that have not begun
        instances[image.id] = &image;
    }
    for (const auto& [id, image] : instances) {
        const auto history = must(store.read(id), "read");
        if (const auto flaw = flaw_of(history)) {
            diary.note(entry::broken, order_of(id), id + ": " + *flaw);
        }
        const auto steps = look_at_history(history, diary);
        if (image != nullptr) {
            look_at_messages(*image, steps, diary);
        }
        if (order_of(id) != id) {
            continue; // a child
        }
        const auto status = must(client.status(id), "status");
        if (status.status == RunStatus::completed) {
            const auto result = from_payload<std::string>(status.output).value();
            diary.note(entry::found, id, std::string{completed} + " " + result);
            if (life_of(id) + kept_lives < life.number) {
                found.ended.push_back(id);
            }
        } else {
            const bool failed = status.status == RunStatus::failed;
            diary.note(entry::found, id, failed ? "failed" : running);
            found.open.push_back(id);
        }
    }
    diary.note(entry::ready);
    return found;
}

// ---- The load

class Customer {
 public:
    Customer(const std::shared_ptr<Provider>& store, const Life& life, Diary& diary)
        : client_{store},
          management_{must(Management::of(store), "management")},
          life_{life},
          diary_{diary} {}

    void adopt(const std::string& id) { open_.push_back(id); }

    void send(const std::string& id) {
        diary_.note(entry::sends, id);
        (void)must(client_.start(process_order, id, {.id = id, .existing = Existing::attach}),
                   "start");
        diary_.note(entry::started, id);
        open_.push_back(id);
    }

    void remove(const std::string& id) {
        diary_.note(entry::deletes, id);
        (void)must(management_.delete_instance(id), "delete");
        diary_.note(entry::deleted, id);
    }

    void wait_for_oldest() {
        const auto id = std::move(open_.front());
        open_.pop_front();
        const auto result = must(client_.attach(process_order, id).wait(120s), "wait");
        diary_.note(entry::ended, id, result);
        if (!life_.last && ++waited_ % 4 != 0) { // one in four stays for later lives to find
            remove(id);
        }
    }

    void shop(std::size_t number) {
        for (std::size_t next = number; !life_.last; next += clients) {
            send("order-" + std::to_string(life_.number) + "-" + std::to_string(next));
            if (open_.size() >= in_flight) {
                wait_for_oldest();
            }
        }
        while (!open_.empty()) {
            wait_for_oldest();
        }
    }

 private:
    const Client client_;
    const Management management_;
    const Life& life_;
    Diary& diary_;
    std::deque<std::string> open_;
    std::size_t waited_ = 0;
};

} // namespace

void live(const Life& life, void (*ready)()) {
    Diary diary{life.diary()};
    const auto store = open_store(life);
    const auto found = look(*store, Client{store}, life, diary);
    ready();
    RuntimeOptions options;
    options.max_attempts = 1'000'000; // a kill counts an attempt, and here nothing else happens
    const auto runtime = Runtime::start(store, make_registry(diary), options);

    std::deque<Customer> customers;
    for (std::size_t number = 0; number < clients; ++number) {
        customers.emplace_back(store, life, diary);
    }
    const std::set<std::string> again{life.send_again.begin(), life.send_again.end()};
    for (const auto& id : found.open) {
        if (!again.contains(id)) { // which its sender will wait for
            customers.front().adopt(id);
        }
    }
    for (const auto& id : life.send_again) {
        customers.back().send(id);
    }
    std::vector<std::jthread> threads;
    for (std::size_t number = 0; number < clients; ++number) {
        threads.emplace_back([&customers, number] { customers[number].shop(number); });
    }
    if (!life.last) {
        for (const auto& id : found.ended) {
            customers.front().remove(id);
        }
    }
}

} // namespace durable::kill_nine
