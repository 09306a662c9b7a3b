// The contracts that the mistakes are made with.

#pragma once

#include <durable/registry.hpp>

#include <string>

namespace sample {

struct User {
    int id = 0;
    std::string name;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(User, id, name)

inline constexpr durable::Activity<std::string(std::string)> greet{"Greet"};
inline constexpr durable::Activity<std::string(User)> fetch_email{"FetchEmail"};
inline constexpr durable::Orchestration<std::string(std::string)> hello{"Hello"};
inline constexpr durable::Orchestration<int(int)> watch{"Watch"};

} // namespace sample
