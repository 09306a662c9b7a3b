// Kv: the small key-value store of an instance. Survives continue-as-new; clients and other
// instances can read it. Changes are recorded as they are made, reads cost nothing. The number of
// keys and the sizes are limited: see durable/limits.hpp.

#pragma once

#include <durable/detail/step.hpp>
#include <durable/operation.hpp>
#include <durable/payload.hpp>
#include <durable/time.hpp>

#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace durable {

// A value read from another instance: std::optional, empty when there is no such key.
template <class T>
class KvValue : public std::optional<T> {
 public:
    using std::optional<T>::optional;
};

// std::optional's operators are ambiguous between two KvValues, which derive from it.
template <std::equality_comparable T>
[[nodiscard]] constexpr bool operator==(const KvValue<T>& left, const KvValue<T>& right) {
    return left.has_value() == right.has_value() && (!left || *left == *right);
}

template <Payload T>
struct Codec<KvValue<T>> {
    static std::string encode(const KvValue<T>& value) {
        return value ? detail::json_text(to_payload(*value)) : "null";
    }
    static KvValue<T> decode(std::string_view text) {
        const auto json = detail::parse_json(text);
        if (json.is_null()) {
            return {};
        }
        return Codec<T>::decode(json.template get_ref<const std::string&>());
    }
};

namespace detail {

[[noreturn]] inline void throw_null_value(std::string_view key) {
    throw std::invalid_argument{"kv().set(\"" + std::string{key} +
                                "\"): the value is a null pointer, not a text"};
}

} // namespace detail

class Kv {
 public:
    using Where = std::source_location;

    explicit Kv(detail::Engine& engine) noexcept : engine_{&engine} {}

    template <Payload T>
    void set(std::string_view key, const T& value, Where where = Where::current()) const {
        auto text = detail::write_or(value, "the value", [&](const std::string& problem) {
            engine().refuse("KV key '" + std::string{key} + "': " + problem);
            return std::string{};
        });
        engine().kv_set(key, std::move(text), detail::recode_as<T>, where);
    }
    // Any text: stored like a std::string.
    void set(std::string_view key, std::string_view value, Where where = Where::current()) const {
        engine().kv_set(key, std::string{value}, nullptr, where);
    }
    // Throws std::invalid_argument for a null pointer.
    void set(std::string_view key, const char* value, Where where = Where::current()) const {
        if (value == nullptr) {
            detail::throw_null_value(key);
        }
        engine().kv_set(key, value, nullptr, where);
    }
    void set(std::string_view key, char* value, Where where = Where::current()) const {
        set(key, static_cast<const char*>(value), where);
    }

    // Throws OperationFailed (BadPayload) when the stored text is no T.
    template <class T = std::string>
    [[nodiscard]] std::optional<T> get(std::string_view key) const {
        static_assert(detail::check_payload<T>());
        const auto* text = engine().kv_find(key);
        if (text == nullptr) {
            return std::nullopt;
        }
        auto value = from_payload<T>(*text);
        if (!value) {
            value.error().message = detail::misfit("key '" + std::string{key} + "'", *text) +
                                    "the type asked for: " + value.error().message;
            throw OperationFailed{std::move(value.error())};
        }
        return *std::move(value);
    }

    // Every key and its text, sorted by key.
    [[nodiscard]] std::map<std::string, std::string> all() const { return engine().kv_all(); }

    void clear(std::string_view key, Where where = Where::current()) const {
        engine().kv_clear(key, where);
    }
    void clear_all(Where where = Where::current()) const { engine().kv_clear_all(where); }

    // Clears every key that was last set before `before`, in the order of keys; how many.
    std::size_t prune(Instant before, Where where = Where::current()) const {
        return engine().kv_prune(before, where);
    }

    // Reads the KV of another instance, as it is stored when this turn ends. For the own instance
    // use get(): the stored KV lacks this turn's changes. An id or a key that is not allowed ends
    // the orchestration, as in set().
    //     const auto quota = co_await ctx.kv().of<int>("tenant-7", "quota");
    template <class T = std::string>
    [[nodiscard]] Operation<KvValue<T>>
    of(std::string_view instance, std::string_view key, Where where = Where::current()) const {
        static_assert(detail::check_payload<T>());
        return Operation<KvValue<T>>{detail::read_kv_of(engine(), instance, key, where)};
    }

 private:
    [[nodiscard]] detail::Engine& engine() const { return detail::checked_engine(engine_); }

    detail::Engine* engine_;
};

} // namespace durable
