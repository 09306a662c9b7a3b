// Registry: binds contracts to the code that fulfils them. Build it once, then hand it to a
// runtime; from then on it is only read, by any thread.
//
//     registry.add(greet, [](const std::string& name) { return "Hello, " + name; });
//     registry.add(hello, say_hello);                  // version 1.0.0
//     registry.add(hello, "2.0.0", say_hello_politely);
//
// New instances get the newest version, or the one that pin() names; an instance that has started
// keeps its version until it continues as new. Mistakes (a name bound twice, a bad name, a bad
// version, a null function) are collected, not thrown: Runtime::start and TestRuntime refuse to
// start and list all problems().

#pragma once

#include <durable/activity_context.hpp>
#include <durable/context.hpp>
#include <durable/contract.hpp>
#include <durable/detail/handler.hpp>
#include <durable/task.hpp>
#include <durable/version.hpp>

#include <concepts>
#include <coroutine>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace durable {

namespace detail {

// A result that has no text fails its orchestration, or its activity, with a sentence.
template <class R>
std::string write_result(const R& value, std::string_view what, std::string_view kind) {
    return write_or(value, what, [&](std::string problem) -> std::string {
        throw OperationFailed{{.kind = std::string{kind}, .message = std::move(problem)}};
    });
}

// The encoded result of an orchestration, or throws what it threw.
template <class R>
std::string take_encoded(PromiseBase& promise) {
    if constexpr (std::is_void_v<R>) {
        static_cast<TaskPromise<R>&>(promise).take();
        return "null";
    } else {
        const R& value = static_cast<TaskPromise<R>&>(promise).take();
        return write_result(
            value, "the result of an orchestration", failure_kind::orchestration_failed);
    }
}

// An input that does not fit its type fails the call, and trying again cannot help.
template <class In>
In decode_input(std::string_view text) {
    auto input = decode_payload<In>(text);
    if (!input) {
        throw OperationFailed{std::move(input.error())};
    }
    return *std::move(input);
}

template <class F, class R, class... In>
concept ActivityCode =
    std::is_invocable_r_v<R, F&, In...> || std::is_invocable_r_v<R, F&, ActivityContext&, In...>;

template <class F, class R, class... In>
concept OrchestrationCode = requires(F& code, Context ctx, In... input) {
    { code(ctx, std::move(input)...) } -> std::same_as<Task<R>>;
};

// Function pointers and std::functions may be null; a lambda cannot.
template <class F>
bool is_null(const F& code) {
    if constexpr (std::is_pointer_v<F>) {
        return code == nullptr;
    } else if constexpr (!std::is_empty_v<F> && requires { bool{code == nullptr}; }) {
        return code == nullptr;
    } else {
        return false;
    }
}

template <class F, class In>
decltype(auto) run_activity(F& code, ActivityContext& context, In&& input) {
    if constexpr (std::is_invocable_v<F&, ActivityContext&, In>) {
        return code(context, std::forward<In>(input));
    } else {
        return code(std::forward<In>(input));
    }
}

} // namespace detail

class Registry {
 public:
    // Binds an activity to any callable, with or without an ActivityContext& in front. A lambda may
    // capture the clients it needs; it is called from many threads at once.
    template <class R, class In, class F>
    Registry& add(const Activity<R(In)>& activity, F code) {
        static_assert(detail::ActivityCode<F, R, In>,
                      "this code does not fulfil the activity's contract: it must take its input "
                      "(after an optional ActivityContext&) and give its result");
        if constexpr (detail::ActivityCode<F, R, In>) { // else the static_assert is enough
            bind_activity<R, In>(activity.name(), std::move(code));
        }
        return *this;
    }
    template <class R, class F>
    Registry& add(const Activity<R()>& activity, F code) {
        static_assert(detail::ActivityCode<F, R>,
                      "this code does not fulfil the activity's contract: it must take nothing "
                      "(or an ActivityContext&) and give its result");
        if (detail::is_null(code)) {
            return add_raw_activity(activity.name(), nullptr);
        }
        if constexpr (std::is_invocable_r_v<R, F&, ActivityContext&>) {
            bind_activity<R, Unit>(
                activity.name(),
                [code = std::move(code)](ActivityContext& context, Unit) mutable -> R {
                    return code(context);
                });
        } else if constexpr (std::is_invocable_r_v<R, F&>) {
            bind_activity<R, Unit>(activity.name(),
                                   [code = std::move(code)](Unit) mutable -> R { return code(); });
        }
        return *this;
    }

    // Binds an orchestration to a coroutine. Only functions and captureless lambdas are accepted:
    // captured state would not be in the history, and replay could not restore it.
    template <class R, class In, class F>
    Registry& add(const Orchestration<R(In)>& orchestration, F code) {
        return add(orchestration, "1.0.0", code);
    }
    template <class R, class In, class F>
    Registry& add(const Orchestration<R(In)>& orchestration, std::string_view version, F code) {
        check_orchestration<R, F, In>();
        if (detail::is_null(code)) {
            return add_orchestration(orchestration.name(), version, nullptr);
        }
        if constexpr (detail::OrchestrationCode<F, R, In>) {
            add_orchestration(
                orchestration.name(), version, [code](Context ctx, std::string_view input) {
                    return detail::RootTask{code(ctx, detail::decode_input<In>(input)),
                                            &detail::take_encoded<R>,
                                            detail::recode_as<R>};
                });
        }
        return *this;
    }
    template <class R, class F>
    Registry& add(const Orchestration<R()>& orchestration, F code) {
        return add(orchestration, "1.0.0", code);
    }
    template <class R, class F>
    Registry& add(const Orchestration<R()>& orchestration, std::string_view version, F code) {
        check_orchestration<R, F>();
        if (detail::is_null(code)) {
            return add_orchestration(orchestration.name(), version, nullptr);
        }
        if constexpr (detail::OrchestrationCode<F, R>) {
            add_orchestration(orchestration.name(), version, [code](Context ctx, std::string_view) {
                return detail::RootTask{code(ctx), &detail::take_encoded<R>, detail::recode_as<R>};
            });
        }
        return *this;
    }

    // The same without types, for libraries on top.
    Registry& add_raw_activity(std::string_view name, ActivityHandler handler);
    Registry& add_raw_orchestration(std::string_view name,
                                    std::string_view version,
                                    Task<std::string> (*code)(Context, std::string));

    // New instances get this version instead of the newest.
    template <class R, class... In>
    Registry& pin(const Orchestration<R(In...)>& orchestration, std::string_view version) {
        return pin_raw(orchestration.name(), version);
    }
    Registry& pin_raw(std::string_view orchestration, std::string_view version);

    // Declares that an activity takes microseconds and never blocks: the thread that has scheduled
    // it may run it, which saves waking another one.
    template <class Signature>
    Registry& mark_short(const Activity<Signature>& activity) {
        return mark_short_raw(activity.name());
    }
    Registry& mark_short_raw(std::string_view activity) {
        short_activities_.emplace(activity);
        return *this;
    }

    // Adds everything of another registry, its pins too: libraries bring their own. A name that
    // both have bound, or pin to different versions, is a problem. Merging itself does nothing.
    Registry& merge(const Registry& other);

    // nullptr when there is none.
    [[nodiscard]] const ActivityHandler* find_activity(std::string_view name) const;
    [[nodiscard]] bool is_short(std::string_view activity) const noexcept {
        return short_activities_.contains(activity);
    }
    // Without a version: the pinned one, else the newest.
    [[nodiscard]] std::shared_ptr<const OrchestrationHandler>
    find_orchestration(std::string_view name, std::optional<Version> version = std::nullopt) const;

    [[nodiscard]] std::vector<std::string> activity_names() const;                     // sorted
    [[nodiscard]] std::vector<std::string> orchestration_names() const;                // sorted
    [[nodiscard]] std::vector<Version> versions(std::string_view orchestration) const; // ascending

    // Sentences about what is wrong; empty when all is well.
    [[nodiscard]] std::vector<std::string> problems() const;

 private:
    using Begin = std::function<detail::RootTask(Context, std::string_view)>;

    struct Versions {
        std::map<Version, std::shared_ptr<const OrchestrationHandler>> by_version;
        std::optional<Version> pinned;
    };

    template <class R, class F, class... In>
    static void check_orchestration() {
        constexpr bool stateless = std::is_pointer_v<F> || std::is_empty_v<F>;
        static_assert(stateless,
                      "an orchestration must not capture: replay cannot restore captured state");
        static_assert(std::is_invocable_v<F&, Context, In...>,
                      "this code does not fulfil the orchestration's contract: it must take a "
                      "durable::Context and the input, both by value");
        if constexpr (std::is_invocable_v<F&, Context, In...>) {
            static_assert(detail::OrchestrationCode<F, R, In...>,
                          "this code does not fulfil the orchestration's contract: it must return "
                          "a durable::Task of the contract's result");
            static_assert(
                !stateless || !detail::OrchestrationCode<F, R, In...> ||
                    std::is_convertible_v<F, Task<R> (*)(Context, In...)>,
                "an orchestration is a function, or a lambda without captures, that takes "
                "its context and its input by value: a reference "
                "would dangle as soon as it waits");
        }
    }

    template <class R, class In, class F>
    Registry& bind_activity(std::string_view name, F code) {
        if (detail::is_null(code)) {
            return add_raw_activity(name, nullptr);
        }
        return add_raw_activity(
            name,
            [code = std::move(code)](ActivityContext& context,
                                     std::string_view text) mutable -> std::string {
                if constexpr (std::is_void_v<R>) {
                    detail::run_activity(code, context, detail::decode_input<In>(text));
                    return "null";
                } else {
                    const R& value =
                        detail::run_activity(code, context, detail::decode_input<In>(text));
                    return detail::write_result(value, "the result", failure_kind::activity_failed);
                }
            });
    }
    Registry& add_orchestration(std::string_view name, std::string_view version, Begin begin);

    std::map<std::string, ActivityHandler, std::less<>> activities_;
    std::set<std::string, std::less<>> short_activities_;
    std::map<std::string, Versions, std::less<>> orchestrations_;
    std::vector<std::string> problems_;
};

} // namespace durable
