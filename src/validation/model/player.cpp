#include "validation/model/player.hpp"

#include "validation/model/turns.hpp"

#include <algorithm>
#include <utility>

namespace durable::validation {

namespace {

std::string in_words(Duration duration) {
    return std::to_string(duration.count()) + " ms";
}

std::string in_words(const std::optional<Duration>& delay) {
    return delay ? in_words(*delay) : "no delay";
}

std::string in_words(const TurnCommit& commit) {
    std::string words = "execution " + std::to_string(commit.execution_id);
    const auto& metadata = commit.metadata;
    if (metadata.status) {
        words += " status " + std::string{name_of(*metadata.status)};
    }
    words += metadata.orchestration_name ? " name " + *metadata.orchestration_name : "";
    words += metadata.orchestration_version ? " version " + *metadata.orchestration_version : "";
    words += metadata.parent_instance_id ? " parent '" + *metadata.parent_instance_id + "'" : "";
    words += metadata.pinned_version ? " pinned " + metadata.pinned_version->text() : "";
    for (const auto& event : commit.history_delta) {
        words += "\n      event " + describe(event);
    }
    for (const auto& item : commit.worker_items) {
        words += "\n      work " + describe(item);
    }
    for (const auto& id : commit.cancelled_activities) {
        words += "\n      cancel activity " + std::to_string(id.activity_id);
    }
    for (const auto& item : commit.orchestrator_items) {
        words += "\n      send " + describe(item);
    }
    for (const auto id : commit.cancelled_timers) {
        words += "\n      cancel timer " + std::to_string(id);
    }
    return words;
}

std::string in_words(const AbandonTurn& abandon) {
    return in_words(abandon.delay) + (abandon.ignore_attempt ? ", ignoring the attempt" : "") +
           (abandon.whole_instance ? ", the whole instance" : "") +
           (abandon.parked ? ", because '" + *abandon.parked + "'" : "");
}

std::string in_words(const OrchestrationCode& code) {
    std::string words = "having";
    for (const auto& [name, versions] : code.versions) {
        words += " " + name;
        for (const auto& version : versions) {
            words += " " + version;
        }
    }
    return words + (code.cancelled_for ? " or cancelled for " + in_words(*code.cancelled_for) : "");
}

std::string in_words(const std::set<std::string, std::less<>>& activities) {
    std::string words = "having";
    for (const auto& name : activities) {
        words += " " + name;
    }
    return words;
}

std::optional<Duration> maybe_delay(Dice& dice) {
    return dice.one_in(2) ? std::optional{draw_duration(dice)} : std::nullopt;
}

} // namespace

Player::Player(std::shared_ptr<Provider> oracle,
               std::shared_ptr<Provider> subject,
               Factory& factory,
               ManualClock& clock)
    : oracle_{std::move(oracle)}, subject_{std::move(subject)}, factory_{factory}, clock_{clock} {}

std::optional<Difference> Player::play(const Operation& operation) {
    Dice dice{operation.dice};
    const auto answers = act(operation.verb, dice);
    if (answers.oracle != answers.subject) {
        return Difference{.oracle = answers.oracle, .subject = answers.subject};
    }
    auto oracle_state = describe_state(*oracle_, world());
    auto subject_state = describe_state(*subject_, world());
    if (oracle_state != subject_state) {
        return Difference{.oracle = std::move(oracle_state), .subject = std::move(subject_state)};
    }
    return std::nullopt;
}

Player::Answers Player::act(Verb verb, Dice& dice) {
    switch (verb) {
    case Verb::send:
        return send(dice);
    case Verb::start:
        return start(dice);
    case Verb::enqueue_activity:
        return enqueue_activity(dice);
    case Verb::fetch_turn:
        return fetch_turn(dice);
    case Verb::commit_turn:
        return commit_turn(dice);
    case Verb::abandon_turn:
        return abandon_turn(dice);
    case Verb::renew_turn:
        return renew_turn(dice);
    case Verb::fetch_work:
        return fetch_work(dice);
    case Verb::finish_work:
        return finish_work(dice);
    case Verb::abandon_work:
        return abandon_work(dice);
    case Verb::renew_work:
        return renew_work(dice);
    case Verb::renew_sessions:
        return renew_sessions(dice);
    case Verb::cleanup_sessions:
        return cleanup_sessions(dice);
    case Verb::append:
        return append(dice);
    case Verb::pass_time:
        return pass_time(dice);
    case Verb::remove:
        return remove(dice);
    case Verb::remove_exactly:
        return remove_exactly(dice);
    case Verb::remove_bulk:
        return remove_bulk(dice);
    case Verb::prune:
        return prune(dice);
    case Verb::prune_bulk:
        return prune_bulk(dice);
    case Verb::reopen:
        return reopen();
    }
    return {};
}

Player::Answers Player::send(Dice& dice) {
    const auto item = draw_message(dice, draw_instance(dice), clock_.now());
    const auto delay = dice.one_in(4) ? maybe_delay(dice) : std::nullopt;
    say("send " + describe(item) + ", " + in_words(delay));
    return both([&](Provider& store) { return store.enqueue_for_orchestrator(item, delay); });
}

Player::Answers Player::start(Dice& dice) {
    auto start = draw_start(dice);
    if (dice.one_in(40)) {
        start.input = "\xff"; // no text: must be refused
    }
    const auto delay = dice.one_in(3) ? maybe_delay(dice) : std::nullopt;
    say("start " + describe(WorkItem{start}) + ", " + in_words(delay));
    return both([&](Provider& store) { return store.start_instance(start, delay); });
}

Player::Answers Player::enqueue_activity(Dice& dice) {
    const WorkItem item = draw_activity(dice, draw_instance(dice), 1 + dice.below(2));
    say("enqueue " + describe(item));
    return both([&](Provider& store) { return store.enqueue_for_worker(item); });
}

std::vector<CachedHistory> Player::known_histories(Dice& dice) {
    std::vector<CachedHistory> known;
    if (!dice.one_in(3)) {
        return known;
    }
    for (const auto& instance : world()) {
        const auto events = oracle_->read(instance);
        CachedHistory cached;
        if (events && !events->empty() && dice.one_in(2)) {
            // The latest execution, or by mistake another one; a prefix that really exists.
            cached.execution_id = 1 + dice.below(2);
            cached.last_event_id = events->at(dice.below(events->size())).event_id;
            const auto held = oracle_->read_with_execution(instance, cached.execution_id);
            if (!held || std::ranges::none_of(*held, [&](const HistoryEvent& event) {
                    return event.event_id == cached.last_event_id;
                })) {
                cached = {};
            }
        }
        known.push_back(cached);
    }
    return known;
}

Player::Answers Player::fetch_turn(Dice& dice) {
    FetchOrchestration request{.lock_timeout = draw_duration(dice)};
    if (dice.one_in(4)) {
        request.filter.emplace();
        for (auto count = dice.below(3); count > 0; --count) {
            const auto major = 1 + dice.below(2);
            request.filter->supported.push_back(
                {.min = {.major = major}, .max = {.major = major, .minor = 9}});
        }
    }
    request.code = draw_code(dice);
    request.one_suspect = dice.one_in(2) && may_be_careful_;
    const auto known = known_histories(dice);
    if (!known.empty()) {
        request.cached = [&](std::string_view instance) -> std::optional<CachedHistory> {
            const auto place = std::ranges::find(world(), instance);
            const auto& cached = known[static_cast<std::size_t>(place - world().begin())];
            return cached.last_event_id > 0 ? std::optional{cached} : std::nullopt;
        };
    }
    say("fetch turn for " + in_words(request.lock_timeout) +
        (request.filter
             ? ", filter of " + std::to_string(request.filter->supported.size()) + " ranges"
             : "") +
        (request.code ? ", " + in_words(*request.code) : "") +
        (request.one_suspect ? ", one suspect" : "") + (known.empty() ? "" : ", with a cache"));
    const auto from_oracle = oracle_->fetch_orchestration_item(request);
    const auto from_subject = subject_->fetch_orchestration_item(request);
    if (from_oracle && *from_oracle && from_subject && *from_subject) {
        turns_.push_back({.oracle_token = (*from_oracle)->lock_token,
                          .subject_token = (*from_subject)->lock_token,
                          .instance = (*from_oracle)->instance,
                          .execution_id = (*from_oracle)->execution_id});
    }
    return {.oracle = describe(from_oracle, known, world()),
            .subject = describe(from_subject, known, world())};
}

// Mostly the latest lease, sometimes a stale one, sometimes one that never was.
Player::TurnPair Player::pick_turn(Dice& dice) const {
    if (turns_.empty() || dice.one_in(30)) {
        return {.oracle_token = "no such token", .subject_token = "no such token", .instance = "a"};
    }
    const auto back = dice.one_in(3) ? dice.below(std::min<std::size_t>(turns_.size(), 4)) : 0;
    return turns_[turns_.size() - 1 - back];
}

Player::WorkPair Player::pick_work(Dice& dice) const {
    if (works_.empty() || dice.one_in(30)) {
        return {
            .oracle_token = "no such token", .subject_token = "no such token", .id = {"a", 1, 1}};
    }
    const auto back = dice.one_in(2) ? dice.below(std::min<std::size_t>(works_.size(), 4)) : 0;
    return works_[works_.size() - 1 - back];
}

Player::Answers Player::commit_turn(Dice& dice) {
    const auto turn = pick_turn(dice);
    auto commit = draw_commit(dice, turn.instance, turn.execution_id, clock_.now(), last_event_id_);
    say("commit turn of '" + turn.instance + "' " + in_words(commit));
    commit.lock_token = turn.oracle_token;
    auto oracle = describe(oracle_->ack_orchestration_item(commit));
    commit.lock_token = turn.subject_token;
    return {.oracle = std::move(oracle),
            .subject = describe(subject_->ack_orchestration_item(commit))};
}

Player::Answers Player::abandon_turn(Dice& dice) {
    const auto turn = pick_turn(dice);
    auto abandon = draw_abandon(dice);
    say("abandon turn of '" + turn.instance + "', " + in_words(abandon));
    abandon.lock_token = turn.oracle_token;
    auto oracle = describe(oracle_->abandon_orchestration_item(abandon));
    abandon.lock_token = turn.subject_token;
    return {.oracle = std::move(oracle),
            .subject = describe(subject_->abandon_orchestration_item(abandon))};
}

Player::Answers Player::renew_turn(Dice& dice) {
    const auto turn = pick_turn(dice);
    const auto extend = draw_duration(dice);
    say("renew turn of '" + turn.instance + "' by " + in_words(extend));
    return {.oracle = describe(oracle_->renew_orchestration_item_lock(turn.oracle_token, extend)),
            .subject =
                describe(subject_->renew_orchestration_item_lock(turn.subject_token, extend))};
}

Player::Answers Player::fetch_work(Dice& dice) {
    FetchWork request{.lock_timeout = draw_duration(dice), .tags = draw_tags(dice)};
    if (!dice.one_in(3)) {
        request.session = SessionClaim{.owner_id = draw_owner(dice),
                                       .lock_timeout = draw_duration(dice),
                                       .claim_new = !dice.one_in(4)};
    }
    request.code = draw_activity_names(dice);
    request.one_suspect = dice.one_in(2) && may_be_careful_;
    say("fetch work for " + in_words(request.lock_timeout) + ", tags mode " +
        std::to_string(static_cast<int>(request.tags.mode())) +
        (request.session ? ", as " + request.session->owner_id + " for " +
                               in_words(request.session->lock_timeout) +
                               (request.session->claim_new ? "" : " without new sessions")
                         : "") +
        (request.code ? ", " + in_words(*request.code) : "") +
        (request.one_suspect ? ", one suspect" : ""));
    const auto from_oracle = oracle_->fetch_work_item(request);
    const auto from_subject = subject_->fetch_work_item(request);
    if (from_oracle && *from_oracle && from_subject && *from_subject) {
        const auto& item = (*from_oracle)->item;
        works_.push_back({.oracle_token = (*from_oracle)->lock_token,
                          .subject_token = (*from_subject)->lock_token,
                          .id = {item.instance, item.execution_id, item.id}});
    }
    return {.oracle = describe(from_oracle), .subject = describe(from_subject)};
}

Player::Answers Player::finish_work(Dice& dice) {
    const auto work = pick_work(dice);
    std::optional<WorkItem> completion;
    if (dice.one_in(30)) {
        completion = work::CancelInstance{.instance = work.id.instance}; // must be refused
    } else if (!dice.one_in(4)) {
        completion = work::ActivityCompleted{.instance = work.id.instance,
                                             .execution_id = work.id.execution_id,
                                             .id = work.id.activity_id,
                                             .result = "done"};
    }
    say("finish work of '" + work.id.instance + "' with " +
        (completion ? describe(*completion) : "nothing"));
    return {.oracle = describe(oracle_->ack_work_item(work.oracle_token, completion)),
            .subject = describe(subject_->ack_work_item(work.subject_token, completion))};
}

Player::Answers Player::abandon_work(Dice& dice) {
    const auto work = pick_work(dice);
    const auto delay = maybe_delay(dice);
    const bool ignore = dice.one_in(2);
    say("abandon work of '" + work.id.instance + "', " + in_words(delay) +
        (ignore ? ", ignoring the attempt" : ""));
    return {.oracle = describe(oracle_->abandon_work_item(work.oracle_token, delay, ignore)),
            .subject = describe(subject_->abandon_work_item(work.subject_token, delay, ignore))};
}

Player::Answers Player::renew_work(Dice& dice) {
    const auto work = pick_work(dice);
    const auto extend = draw_duration(dice);
    say("renew work of '" + work.id.instance + "' by " + in_words(extend));
    return {.oracle = describe(oracle_->renew_work_item_lock(work.oracle_token, extend)),
            .subject = describe(subject_->renew_work_item_lock(work.subject_token, extend))};
}

Player::Answers Player::renew_sessions(Dice& dice) {
    const std::vector<std::string> owners(dice.below(3), draw_owner(dice));
    const auto extend = draw_duration(dice);
    const auto idle = draw_duration(dice);
    say("renew sessions of " + (owners.empty() ? "no owner" : owners.front()) + " by " +
        in_words(extend) + " when idle for less than " + in_words(idle));
    return both([&](Provider& store) { return store.renew_session_lock(owners, extend, idle); });
}

Player::Answers Player::cleanup_sessions(Dice& dice) {
    const auto idle = draw_duration(dice);
    say("clean up sessions");
    return both([&](Provider& store) { return store.cleanup_orphaned_sessions(idle); });
}

Player::Answers Player::append(Dice& dice) {
    const auto& instance = draw_instance(dice);
    std::vector<HistoryEvent> events;
    for (auto count = dice.below(3); count > 0; --count) {
        const auto id = dice.one_in(10) ? last_event_id_ : ++last_event_id_;
        events.push_back(draw_event(dice, id, clock_.now()));
    }
    const auto execution = 1 + dice.below(2);
    say("append " + std::to_string(events.size()) + " events to '" + instance + "' execution " +
        std::to_string(execution));
    return both(
        [&](Provider& store) { return store.append_with_execution(instance, execution, events); });
}

Player::Answers Player::pass_time(Dice& dice) {
    const auto duration = draw_duration(dice);
    say("pass " + in_words(duration));
    clock_.advance(duration);
    return {};
}

} // namespace durable::validation
