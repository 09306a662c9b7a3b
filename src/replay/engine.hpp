// Engine: the machine inside an Execution. It owns the coroutine frames, delivers messages to the
// steps that wait for them, and turns what the code does into decisions: compared with history
// while replaying, appended to it otherwise. Both ways run through the same functions, so that
// every turn exercises the path that recovery depends on.
//
//     engine.cpp    a turn from outside: replay(), run(), coming to rest
//     messages.cpp  messages and recorded events to steps
//     steps.cpp     what the code does: schedule, drop, continue as new
//     state.cpp     custom status, KV, patches, time, identity
//     record.cpp    decisions: append or compare
//     kept_call.cpp calls that a cancellation waits for, and calls that are undone
//     ending.cpp    completed, failed, cancelled, continued as new; compensation

#pragma once

#include "replay/decision.hpp"
#include "replay/execution.hpp"
#include "replay/mailbox.hpp"
#include "replay/nondeterminism.hpp"
#include "replay/parent_link.hpp"
#include "replay/slots.hpp"
#include "replay/step_table.hpp"
#include "replay/turn.hpp"

#include <durable/detail/handler.hpp>
#include <durable/detail/step.hpp>
#include <durable/operation.hpp>
#include <durable/options.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace durable::replay {

struct KeptCall;

struct Compensation {
    std::string name;
    std::string input{};
    detail::Recode recode = nullptr;
    CallOptions options;
    std::source_location where;
    KeptCall* call = nullptr; // the call that it undoes: its outcome becomes the input
};

// Takes effect when the code awaits its slot.
struct ContinueRequest {
    std::string input;
    detail::Recode recode = nullptr;
    std::optional<std::string> version;
    std::source_location where;
    const detail::Slot* slot = nullptr;
};

// What most executions never need.
struct RareState {
    RareState();
    RareState(const RareState&) = delete;
    RareState& operator=(const RareState&) = delete;
    ~RareState();

    std::deque<bool> unanswered; // see KeptCall; as long as the engine: attempts point to them
    std::vector<std::unique_ptr<KeptCall>> calls; // oldest first
    std::optional<std::string> cancellation;      // its reason, while it waits for calls to end
    std::optional<ContinueRequest> continuation;
    std::vector<Compensation> compensations;
    std::map<std::string, bool, std::less<>> patches;
    std::vector<std::pair<Failure, ErrorDetails>> system_failures; // delivered to the code
    std::optional<ErrorDetails> failure;                           // why the compensations run
    std::string undo_failures; // of these compensations, for the record
    std::string lost_wait;     // an operation that was dropped while a coroutine waited for it
};

class Engine final : public detail::Engine {
 public:
    explicit Engine(ExecutionSetup setup);
    ~Engine() override;

    bool replay(std::span<const HistoryEvent> history, ReplayMode mode);
    [[nodiscard]] TurnResult run(std::span<const WorkItem> messages, Instant now);

    [[nodiscard]] std::uint64_t last_event_id() const noexcept { return last_event_id_; }
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    [[nodiscard]] const std::shared_ptr<const OrchestrationHandler>& handler() const noexcept {
        return handler_;
    }
    [[nodiscard]] const std::string* unknown_kv_read() const noexcept {
        return unknown_kv_read_.get();
    }
    [[nodiscard]] const NondeterminismReport* nondeterminism() const noexcept {
        return report_.get();
    }
    [[nodiscard]] std::size_t memory_bytes() const noexcept;

    // Destroys the frames without consequences. False when operations remain that the code keeps
    // outside of its frames: they still point here, and the last of them deletes this engine.
    bool close() noexcept;

    // detail::Engine, for the code.
    detail::Slot* schedule(const detail::StepRequest& request) override;
    detail::Slot* schedule_retrying(const detail::StepRequest& request,
                                    const CallOptions& options) override;
    detail::Slot* schedule_kept(const detail::StepRequest& request,
                                const CallOptions& options,
                                const detail::UndoRequest* undo) override;
    detail::Slot* continue_as_new(const detail::StepRequest& request) override;
    void refuse(std::string sentence) override;
    [[nodiscard]] std::string_view keep(std::string_view text) override;
    std::string start_detached(const detail::StepRequest& request) override;
    void release(detail::Slot* slot) noexcept override;
    void compensate_with(const detail::StepRequest& request, const CallOptions& options) override;
    void wrong_order(const detail::Slot& first, const detail::Slot& second) noexcept override;
    void wait_lost(const detail::Slot* step) noexcept override;
    void set_status(std::optional<std::string_view> status, std::source_location where) override;
    [[nodiscard]] std::optional<std::string> status() const override;
    void kv_set(std::string_view key,
                std::string value,
                detail::Recode recode,
                std::source_location where) override;
    void kv_clear(std::string_view key, std::source_location where) override;
    void kv_clear_all(std::source_location where) override;
    std::size_t kv_prune(Instant before, std::source_location where) override;
    [[nodiscard]] const std::string* kv_find(std::string_view key) const override;
    [[nodiscard]] std::map<std::string, std::string> kv_all() const override;
    [[nodiscard]] bool patched(std::string_view id, std::source_location where) override;
    [[nodiscard]] std::string new_uuid() override;
    [[nodiscard]] Instant now() const noexcept override { return from_epoch_ms(now_ms_); }
    [[nodiscard]] bool is_replaying() const noexcept override { return replaying_; }
    void log(LogLevel level, std::string_view message, std::source_location where) override;
    [[nodiscard]] const std::string& instance() const noexcept override { return instance_; }
    [[nodiscard]] std::uint64_t execution_id() const noexcept override { return execution_id_; }
    [[nodiscard]] const std::string& orchestration_name() const noexcept override;
    [[nodiscard]] const std::string& orchestration_version() const noexcept override;

 private:
    struct Decided {
        std::uint64_t id = 0;                   // 0: the turn is lost, nothing was decided
        const HistoryEvent* recorded = nullptr; // replaying: what was recorded then
    };

    class TurnScope;

    // engine.cpp
    void replay_events();
    void begin(std::span<const WorkItem> messages);
    void process_all(std::span<const WorkItem> messages, const WorkItem* start);
    void come_to_rest();
    void run_to_rest();
    [[nodiscard]] TurnResult finish();
    [[nodiscard]] bool spoiled() const noexcept; // no decision counts any more

    // messages.cpp
    void process(const WorkItem& item);
    void process_completion(std::uint64_t execution_id,
                            std::uint64_t id,
                            detail::StepKind kind,
                            history::Kind event);
    void process_answer(std::optional<std::uint64_t> incarnation,
                        std::uint64_t execution_id,
                        std::uint64_t id,
                        history::Kind event);
    void process_cancel(const work::CancelInstance& item);
    [[nodiscard]] const WorkItem* find_cancel(std::span<const WorkItem> messages) const noexcept;
    void second_start(const work::StartOrchestration& item);
    void pass_on(const WorkItem& item);
    void carry(detail::StepKind kind, std::string name, std::string data);
    void ignore(std::string_view why);
    void append_message(history::Kind kind, std::optional<std::uint64_t> source);
    void apply(const HistoryEvent& event);
    void apply_start(const HistoryEvent& event, const history::OrchestrationStarted& started);
    void apply_completion(const HistoryEvent& event,
                          detail::StepKind kind,
                          const std::string* result,
                          const ErrorDetails* details);
    void arrive(detail::StepKind kind, const std::string& name, std::string data);
    void arrive_carried(const history::OrchestrationStarted& started);
    void answer(Mailboxes::Match match, std::uint64_t order = 0);
    void begin_code(std::string_view input);

    // steps.cpp
    [[nodiscard]] std::string refusal_of(const detail::StepRequest& request) const;
    [[nodiscard]] std::uint64_t fire_at_ms(const detail::StepRequest& request) const noexcept;
    Decided decide_step(const detail::StepRequest& request, detail::Slot& slot);
    void dispatch(const detail::StepRequest& request, const detail::Slot& slot);
    void subscribe(detail::Slot& slot);
    void drop(detail::Slot& slot) noexcept;
    void drop_continuation(const detail::Slot& slot);
    void
    take_policy(const detail::StepRequest& request, const Decided& decided, detail::Slot& slot);
    [[nodiscard]] bool refuses_compensation(const detail::StepRequest& request,
                                            const CallOptions& options);

    // kept_call.cpp
    friend struct KeptCall;
    [[nodiscard]] bool cancellation_waits() const noexcept;  // asked for, and not in effect yet
    [[nodiscard]] bool cancellation_is_due() const noexcept; // nothing is left to wait for
    [[nodiscard]] bool calls_under_way() const noexcept;     // that a cancellation waits for
    void request_cancellation(const std::string& reason);
    void drop_kept(KeptSlot& slot) noexcept;
    void give_up_calls();  // that are under way and may be asked to stop
    void drop_all_calls(); // whose result the code has not taken
    void begin_undos();    // of calls that the code gave up, once they have ended
    [[nodiscard]] bool undos_under_way() const noexcept;
    void forget_calls() noexcept;
    [[nodiscard]] Operation<std::string> watch(KeptCall& call);
    [[nodiscard]] static Task<void> undo_call(Engine* engine, KeptCall* call);
    [[nodiscard]] static Task<void> compensate(Engine* engine,
                                               std::vector<Compensation> compensations);
    [[nodiscard]] Operation<std::string>
    call_undo(const Compensation& undo, std::string_view input, bool essential);
    void note_undo_failure(const Compensation& undo, const Failure& failure);

    // state.cpp
    void read_unknown_kv(std::string what) const;
    [[nodiscard]] std::string kv_key_refusal(std::string_view key) const;
    [[nodiscard]] std::string kv_refusal(std::string_view key, std::string_view value) const;

    // record.cpp
    // `refusal`: why this may not be stored; empty when it may. A replay accepts what is stored,
    // although limits may have changed since.
    Decided decide(history::Kind kind, std::source_location where, std::string refusal = {});
    Decided decide(Decision made, const std::source_location& where, std::string refusal);
    Decided compare(const Decision& made, const std::source_location& where, std::string refusal);
    [[nodiscard]] bool ids_left();
    HistoryEvent& append(history::Kind kind,
                         std::optional<std::uint64_t> source,
                         const std::source_location& where);
    void record_dropped();
    void record_drop(const Dropped& dropped);
    [[nodiscard]] bool was_cancelled(std::uint64_t child);
    void skip_recorded_patches();
    [[nodiscard]] std::string failed_before(const Decision& made);
    void report(NondeterminismReport report);
    void report_missing(const HistoryEvent& event);
    void report_corrupt(std::uint64_t event_id, std::string what);
    void report_corrupt(const HistoryEvent& event, std::string what);
    void report_unmatched(std::string what);
    void give_up(std::string sentence);

    // ending.cpp
    [[nodiscard]] bool conclude(); // false: undos are under way, the end must wait
    void fail_with(ErrorDetails details);
    void close_code(std::string_view reason);
    void end_completed(std::string output, detail::Recode recode);
    void end_failed(ErrorDetails details);
    [[nodiscard]] bool end_continued();            // false: as of conclude()
    [[nodiscard]] bool continues() const noexcept; // the code awaits continue_as_new
    void end(Decision last, TurnStatus status, std::string output);
    void hand_over(work::ContinueAsNew next);
    void count_unread();
    [[nodiscard]] ErrorDetails details_of(const std::exception_ptr& thrown) const;
    void cancel_forgotten_steps();

    void remark(LogLevel level, std::string message);
    RareState& rare();

    std::shared_ptr<const OrchestrationHandler> handler_;
    std::string instance_;
    std::uint64_t execution_id_;
    std::uint64_t incarnation_;
    Limits limits_;

    std::uint64_t last_event_id_ = 0;
    std::uint64_t now_ms_ = 0;
    std::uint64_t started_at_ms_ = 0;
    std::uint64_t uuids_ = 0;
    std::size_t live_slots_ = 0;
    bool started_ = false;
    bool replaying_ = false;
    bool ended_ = false;
    bool inert_ = false;     // frames are destroyed without consequences
    bool abandoned_ = false; // owned by the operations that are left: see close()
    bool kv_known_ = true;   // see ExecutionSetup

    std::unique_ptr<std::set<std::string, std::less<>>> texts_; // before the frames: they use them
    detail::RootTask root_;
    StepTable steps_;
    Turn* turn_ = nullptr;

    // Allocated when needed: a parked execution should be small.
    std::unique_ptr<ParentLink> parent_;
    std::unique_ptr<Mailboxes> mailboxes_;
    std::unique_ptr<KvSnapshot> kv_;
    mutable std::unique_ptr<std::string> unknown_kv_read_;
    std::unique_ptr<std::string> status_;
    std::unique_ptr<RareState> rare_;
    std::unique_ptr<NondeterminismReport> report_;
};

} // namespace durable::replay
