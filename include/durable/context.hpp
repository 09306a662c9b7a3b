// Context: everything an orchestration may do to the outside world. A small value: copy it freely,
// pass it by value, and never keep it longer than the orchestration runs. Used anywhere else (on
// the thread of an activity, after the end) it throws std::logic_error.
//
// A call whose data cannot be stored (text that is not UTF-8, a value that has no payload text, a
// name, id or option that is not allowed, data over a limit of durable/limits.hpp) ends the
// orchestration there, and the code cannot catch it: nothing of the call is recorded, so a replay
// could not follow code that went on from there.

#pragma once

#include <durable/combine.hpp>
#include <durable/contract.hpp>
#include <durable/detail/step.hpp>
#include <durable/kv.hpp>
#include <durable/log.hpp>
#include <durable/operation.hpp>
#include <durable/options.hpp>
#include <durable/task.hpp>
#include <durable/undo.hpp>

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace durable {

namespace detail {

// g++ 12 relocates aggregate temporaries bitwise inside co_await expressions; trivial ones survive.
// g++ 13 and later pass tests/compiler.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
inline constexpr bool compiler_breaks_temporaries = true;
#else
inline constexpr bool compiler_breaks_temporaries = false;
#endif

template <class In>
concept MustBeNamed =
    compiler_breaks_temporaries && std::is_aggregate_v<In> && !std::is_trivially_copyable_v<In>;

} // namespace detail

class Context {
 public:
    using Where = std::source_location;

    explicit Context(detail::Engine& engine) noexcept : engine_{&engine} {}

    // ---- Steps

    // Schedules an activity. Await the result, or keep the operation and await it later.
    template <class R, class In>
    [[nodiscard]] Operation<R> call(const Activity<R(In)>& activity,
                                    const std::type_identity_t<In>& input,
                                    CallOptions options = {},
                                    Where where = Where::current()) const {
        const auto text = write(activity.name(), input);
        return Operation<R>{
            call_activity(activity.name(), {text, detail::recode_as<In>}, options, where)};
    }
    template <class R>
    [[nodiscard]] Operation<R> call(const Activity<R()>& activity,
                                    CallOptions options = {},
                                    Where where = Where::current()) const {
        return Operation<R>{call_activity(activity.name(), {"null"}, options, where)};
    }

    // The same, with the activity that undoes it: see undo.hpp.
    //     co_await ctx.call(charge, order, undo_with(refund), {.timeout = 30s})
    template <class R, class In>
    [[nodiscard]] Operation<R> call(const Activity<R(In)>& activity,
                                    const std::type_identity_t<In>& input,
                                    std::type_identity_t<UndoWith<In, R>> undo,
                                    CallOptions options = {},
                                    Where where = Where::current()) const {
        const auto text = write(activity.name(), input);
        return Operation<R>{call_undoable(
            activity.name(), {text, detail::recode_as<In>}, undo.request(), options, where)};
    }
    template <class R>
    [[nodiscard]] Operation<R> call(const Activity<R()>& activity,
                                    std::type_identity_t<UndoWith<void, R>> undo,
                                    CallOptions options = {},
                                    Where where = Where::current()) const {
        return Operation<R>{
            call_undoable(activity.name(), {"null"}, undo.request(), options, where)};
    }

    // Starts a child orchestration and waits for it like for an activity.
    template <class R, class In>
    [[nodiscard]] Operation<R> call(const Orchestration<R(In)>& child,
                                    const std::type_identity_t<In>& input,
                                    ChildOptions options = {},
                                    Where where = Where::current()) const {
        const auto text = write(child.name(), input);
        return Operation<R>{
            call_child(child.name(), {text, detail::recode_as<In>}, options, where)};
    }
    template <class R>
    [[nodiscard]] Operation<R> call(const Orchestration<R()>& child,
                                    ChildOptions options = {},
                                    Where where = Where::current()) const {
        return Operation<R>{call_child(child.name(), {"null"}, options, where)};
    }

    // g++ 12 corrupts aggregate temporaries in co_await expressions: name the input first. No
    // overload can tell std::move(named) from a temporary: write the name alone, the input is
    // encoded at once and moving gains nothing.
    template <class R, class In>
        requires detail::MustBeNamed<In>
    void call(const Activity<R(In)>&, std::type_identity_t<In>&&, CallOptions = {}) const = delete;
    template <class R, class In>
        requires detail::MustBeNamed<In>
    void call(const Activity<R(In)>&,
              std::type_identity_t<In>&&,
              std::type_identity_t<UndoWith<In, R>>,
              CallOptions = {}) const = delete;
    template <class R, class In>
        requires detail::MustBeNamed<In>
    void
    call(const Orchestration<R(In)>&, std::type_identity_t<In>&&, ChildOptions = {}) const = delete;

    // Sleeps durably: survives restarts, costs no thread. Any unit of time; beyond the clock's
    // range means for ever. Counts from the clock of the machine, also when that was set back and
    // now() stands still until it catches up. For a moment from outside, use sleep_until().
    [[nodiscard]] Operation<void> sleep(Timespan duration, Where where = Where::current()) const;
    [[nodiscard]] Operation<void> sleep_until(Instant moment, Where where = Where::current()) const;

    // Waits for a message that Client::raise sends: the oldest one that no wait has received yet.
    template <class T>
    [[nodiscard]] Operation<T> wait_for(const Event<T>& event,
                                        Where where = Where::current()) const {
        return Operation<T>{subscribe(detail::StepKind::event, event.name(), where)};
    }

    // Takes the next message out of a mailbox that Client::enqueue fills.
    template <class T>
    [[nodiscard]] Operation<T> dequeue(const Queue<T>& queue,
                                       Where where = Where::current()) const {
        return Operation<T>{subscribe(detail::StepKind::queue, queue.name(), where)};
    }

    // Gives `work` a deadline: its value, or nullopt when the time ran out and it was cancelled.
    //     const auto answer = co_await ctx.within(24h, ctx.wait_for(approval));
    template <detail::DurableAwaitable A>
    [[nodiscard]] detail::Within<detail::Operand<A>>
    within(Timespan limit, A&& work, Where where = Where::current()) const {
        return detail::Within<detail::Operand<A>>{std::forward<A>(work), sleep(limit, where)};
    }

    // ---- Lifetime

    // Registers a compensation: if this orchestration fails or is cancelled, the registered
    // activities, and the undos of calls that have one, run, newest first, before the failure is
    // recorded. The failure of a compensation is appended to that failure's text. To undo a call,
    // register the undo with the call (undo_with): while the call is under way, nothing is
    // registered here yet. Only the code knows the compensations: none runs when the instance ends
    // without its code, as poison, with code that differs from its history, or cancelled while no
    // node has its code. The log says so.
    template <class R, class In>
    void on_failure(const Activity<R(In)>& undo,
                    const std::type_identity_t<In>& input,
                    CallOptions options = {},
                    Where where = Where::current()) const {
        const auto text = write(undo.name(), input, "compensation ");
        compensate(undo.name(), {text, detail::recode_as<In>}, options, where);
    }
    template <class R>
    void on_failure(const Activity<R()>& undo,
                    CallOptions options = {},
                    Where where = Where::current()) const {
        compensate(undo.name(), {"null"}, options, where);
    }

    // Ends this execution, where it is awaited, and starts the next one with a fresh, short
    // history; compensations that were registered are dropped. Never resumes:
    //     co_return co_await ctx.continue_as_new(watch_host, state);
    // Dropped instead of awaited, or asked for twice, it fails the orchestration.
    template <class R, class In>
    [[nodiscard]] Operation<R> continue_as_new(const Orchestration<R(In)>& self,
                                               const std::type_identity_t<In>& input,
                                               ContinueOptions options = {},
                                               Where where = Where::current()) const {
        const auto text = write(self.name(), input);
        return Operation<R>{
            continue_as(self.name(), {text, detail::recode_as<In>}, options, where)};
    }
    template <class R>
    [[nodiscard]] Operation<R> continue_as_new(const Orchestration<R()>& self,
                                               ContinueOptions options = {},
                                               Where where = Where::current()) const {
        return Operation<R>{continue_as(self.name(), {"null"}, options, where)};
    }
    template <class R, class In>
        requires detail::MustBeNamed<In>
    void continue_as_new(const Orchestration<R(In)>&,
                         std::type_identity_t<In>&&,
                         ContinueOptions = {}) const = delete; // as for call()

    // Starts an orchestration without waiting for it; returns its instance id. If an instance has
    // that id already, nothing is started, and a warning is logged.
    template <class R, class In>
    std::string start_detached(const Orchestration<R(In)>& other,
                               const std::type_identity_t<In>& input,
                               DetachedOptions options = {},
                               Where where = Where::current()) const {
        const auto text = write(other.name(), input);
        return detach(other.name(), {text, detail::recode_as<In>}, options, where);
    }
    template <class R>
    std::string start_detached(const Orchestration<R()>& other,
                               DetachedOptions options = {},
                               Where where = Where::current()) const {
        return detach(other.name(), {"null"}, options, where);
    }

    // ---- State that clients can read

    void set_status(std::string_view status, Where where = Where::current()) const;
    void clear_status(Where where = Where::current()) const;
    [[nodiscard]] std::optional<std::string> status() const;
    [[nodiscard]] Kv kv() const noexcept { return Kv{*engine_}; }

    // ---- Deterministic answers

    // The time of the message that the code reacts to: the same on every replay; never goes back.
    [[nodiscard]] Instant now() const { return engine().now(); }
    [[nodiscard]] std::string new_uuid() const;
    // For changing code under running instances: false where the old code ran, true from now on.
    //     if (ctx.patched("charge-before-ship")) { ...new... } else { ...old... }
    [[nodiscard]] bool patched(std::string_view id, Where where = Where::current()) const;
    [[nodiscard]] bool is_replaying() const { return engine().is_replaying(); }
    // Silent during replay.
    void log(LogLevel level, std::string_view message, Where where = Where::current()) const;

    [[nodiscard]] const std::string& instance() const { return engine().instance(); }
    [[nodiscard]] std::uint64_t execution_id() const { return engine().execution_id(); }
    [[nodiscard]] const std::string& orchestration() const;
    [[nodiscard]] const std::string& version() const;

    // ---- The same without types, for libraries on top: names and payloads at run time

    [[nodiscard]] Operation<std::string> call_raw(std::string_view activity,
                                                  std::string_view input,
                                                  CallOptions options = {},
                                                  Where where = Where::current()) const;
    // `undo` gets the payload of an Undo<In, R>.
    [[nodiscard]] Operation<std::string> call_undoable_raw(std::string_view activity,
                                                           std::string_view input,
                                                           std::string_view undo,
                                                           CallOptions options = {},
                                                           CallOptions undo_options = {},
                                                           Where where = Where::current()) const;
    [[nodiscard]] Operation<std::string> call_child_raw(std::string_view orchestration,
                                                        std::string_view input,
                                                        ChildOptions options = {},
                                                        Where where = Where::current()) const;
    [[nodiscard]] Operation<std::string> wait_for_raw(std::string_view event,
                                                      Where where = Where::current()) const;
    [[nodiscard]] Operation<std::string> dequeue_raw(std::string_view queue,
                                                     Where where = Where::current()) const;
    void on_failure_raw(std::string_view activity,
                        std::string_view input,
                        CallOptions options = {},
                        Where where = Where::current()) const;
    [[nodiscard]] Operation<std::string> continue_as_new_raw(std::string_view input,
                                                             ContinueOptions options = {},
                                                             Where where = Where::current()) const;
    std::string start_detached_raw(std::string_view orchestration,
                                   std::string_view input,
                                   DetachedOptions options = {},
                                   Where where = Where::current()) const;

 private:
    using Text = std::string_view;

    // The text of an input. Without one the orchestration ends, and later steps have no effect.
    template <class In>
    [[nodiscard]] std::string write(Text name, const In& input, Text what = {}) const {
        return detail::write_or(input, "the input", [&](const std::string& problem) {
            engine().refuse(std::string{what} + "'" + std::string{name} + "': " + problem);
            return std::string{};
        });
    }

    struct Input {
        Text text;
        detail::Recode recode = nullptr;
    };
    [[nodiscard]] detail::Slot* call_activity(Text, Input, const CallOptions&, Where) const;
    [[nodiscard]] detail::Slot*
    call_undoable(Text, Input, detail::UndoRequest, const CallOptions&, Where) const;
    [[nodiscard]] detail::Slot* call_child(Text, Input, const ChildOptions&, Where) const;
    [[nodiscard]] detail::Slot* subscribe(detail::StepKind, Text, Where) const;
    [[nodiscard]] detail::Slot* continue_as(Text, Input, const ContinueOptions&, Where) const;
    void compensate(Text, Input, const CallOptions&, Where) const;
    std::string detach(Text, Input, const DetachedOptions&, Where) const;

    [[nodiscard]] detail::Engine& engine() const { return detail::checked_engine(engine_); }

    detail::Engine* engine_;
};

static_assert(std::is_trivially_copyable_v<Context>);

} // namespace durable
