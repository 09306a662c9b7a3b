// Undo: the input of an activity that undoes a call: what is known about that call.
//
//     constexpr durable::Activity<Receipt(Order)>              charge{"Charge"};
//     constexpr durable::Activity<void(durable::Undo<Order, Receipt>)> refund{"Refund"};
//
//     const auto receipt = co_await ctx.call(charge, order, durable::undo_with(refund));
//
// An undo is registered before its call begins. It runs when the orchestration fails or is
// cancelled, and when the code gives the call up without having taken its result (a race that it
// lost, a deadline that passed, an exception elsewhere). It runs after the call has ended, whatever
// its outcome: `result` is there when it succeeded, and `idempotency_key` is the one that the
// call's activity had, so that the undo can ask the other side what happened.

#pragma once

#include <durable/contract.hpp>
#include <durable/options.hpp>
#include <durable/payload.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace durable {

enum class CallOutcome : std::uint8_t {
    succeeded, // `result` is there
    failed,    // every attempt has reported a failure
    unknown,   // it timed out, was asked to stop, or killed its process: it may have happened
};

// Of a call without an input, or without a result: Undo<void, R>, Undo<In, void>.
template <class In, class R>
struct Undo {
    std::conditional_t<std::is_void_v<In>, Unit, In> input{};
    std::optional<std::conditional_t<std::is_void_v<R>, Unit, R>> result{};
    CallOutcome outcome = CallOutcome::unknown;
    std::string idempotency_key{};
};

// Its text holds the payloads of the call as texts, which the types of the call read.
template <class In, class R>
struct Codec<Undo<In, R>> {
    using Input = std::conditional_t<std::is_void_v<In>, Unit, In>;
    using Output = std::conditional_t<std::is_void_v<R>, Unit, R>;

    static std::string encode(const Undo<In, R>& undo) {
        nlohmann::json json{{"input", Codec<Input>::encode(undo.input)},
                            {"outcome", text_of(undo.outcome)},
                            {"idempotency_key", undo.idempotency_key}};
        if (undo.result) {
            json["result"] = Codec<Output>::encode(*undo.result);
        }
        return detail::json_text(json);
    }
    static Undo<In, R> decode(std::string_view text) {
        const auto json = detail::parse_json(text);
        Undo<In, R> undo{.input = Codec<Input>::decode(json.at("input").get<std::string>()),
                         .outcome = outcome_of(json.at("outcome").get<std::string>()),
                         .idempotency_key = json.at("idempotency_key").get<std::string>()};
        if (const auto result = json.find("result"); result != json.end()) {
            undo.result = Codec<Output>::decode(result->get<std::string>());
        }
        return undo;
    }

 private:
    static std::string text_of(CallOutcome outcome) {
        return outcome == CallOutcome::succeeded ? "succeeded"
               : outcome == CallOutcome::failed  ? "failed"
                                                 : "unknown";
    }
    static CallOutcome outcome_of(std::string_view text) {
        if (text == "succeeded") {
            return CallOutcome::succeeded;
        }
        return text == "failed" ? CallOutcome::failed : CallOutcome::unknown;
    }
};

// Made by undo_with(). No aggregate: {} means CallOptions.
template <class In, class R>
class UndoWith {
 public:
    constexpr UndoWith(std::string_view activity, const CallOptions& options) noexcept
        : activity_{activity}, options_{options} {}

    [[nodiscard]] detail::UndoRequest request() const noexcept { return {activity_, &options_}; }

 private:
    std::string_view activity_;
    CallOptions options_;
};

template <class U, class In, class R>
[[nodiscard]] constexpr UndoWith<In, R> undo_with(const Activity<U(Undo<In, R>)>& activity,
                                                  CallOptions options = {}) noexcept {
    return {activity.name(), options};
}
template <class Signature>
void undo_with(const Activity<Signature>&, CallOptions = {}) {
    static_assert(detail::never<Signature>,
                  "an activity that undoes a call takes durable::Undo<input, result> of that call: "
                  "it also runs when the result is not known");
}

} // namespace durable
