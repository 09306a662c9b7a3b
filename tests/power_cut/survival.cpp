#include "power_cut/survival.hpp"

namespace durable::power_cut {

namespace {

template <class T, std::size_t n>
T one_of(Random& random, const std::array<T, n>& choices) {
    return choices.at(random.next() % n);
}

} // namespace

Survival Survival::choose(Random& random, std::size_t position) {
    constexpr std::array data{
        Data::none, Data::all, Data::before, Data::since, Data::writes, Data::sectors};
    constexpr std::array sizes{Sizes::none, Sizes::all, Sizes::some, Sizes::some};
    constexpr std::array names{Names::none, Names::all, Names::any, Names::journal};
    // Most of what is not synced is young.
    constexpr std::array<std::size_t, 3> windows{8, 64, 1024};
    constexpr std::array<unsigned, 4> chances{5, 50, 50, 95};
    Survival made;
    made.data = one_of(random, data);
    made.sizes = one_of(random, sizes);
    made.names = one_of(random, names);
    const auto back = random.next() % one_of(random, windows);
    made.moment = position - std::min(position, back);
    made.chance = one_of(random, chances);
    made.seed = random.next();
    made.spoiled_maps = random.next() % 2 == 0;
    return made;
}

std::string describe(const Survival& survival) {
    constexpr std::array<std::string_view, 6> data{"no data",
                                                   "all data",
                                                   "data before the moment",
                                                   "data since the moment",
                                                   "some writes",
                                                   "some sectors"};
    constexpr std::array<std::string_view, 3> sizes{"no sizes", "all sizes", "some sizes"};
    constexpr std::array<std::string_view, 4> names{
        "no names", "all names", "any names", "names in order"};
    return std::string{data.at(static_cast<std::size_t>(survival.data))} + ", " +
           std::string{sizes.at(static_cast<std::size_t>(survival.sizes))} + ", " +
           std::string{names.at(static_cast<std::size_t>(survival.names))} + " (moment " +
           std::to_string(survival.moment) + ", " + std::to_string(survival.chance) + " %)";
}

} // namespace durable::power_cut
