// The small containers below the ledger.

#include "base/link_table.hpp"
#include "base/random.hpp"
#include "providers/ledger/due_heap.hpp"
#include "providers/ledger/history_log.hpp"
#include "providers/ledger/instance.hpp"
#include "providers/ledger/long_list.hpp"
#include "providers/ledger/packed_text.hpp"
#include "providers/ledger/record.hpp"
#include "providers/ledger/shorthand.hpp"
#include "providers/ledger/string_pool.hpp"
#include "providers/ledger/token.hpp"
#include "providers/rules/moment.hpp"

#include <durable/codec.hpp>

#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::ledger {
namespace {

struct Thing {
    std::int64_t key = 0;
    std::uint32_t slot = no_slot;
};

using Heap = DueHeap<Thing, &Thing::slot>;

// Pushes, moves and removes at random; the heap must always agree with a sorted set.
TEST(DueHeap, AgreesWithASortedSet) {
    SeededRandom random{42};
    std::vector<Thing> things(300);
    std::multiset<std::int64_t> expected;
    Heap heap;
    for (int step = 0; step < 20'000; ++step) {
        auto& thing = things[random.next() % things.size()];
        const auto key = static_cast<std::int64_t>(random.next() % 1000);
        if (thing.slot == no_slot) {
            heap.push(thing, key);
        } else {
            expected.erase(expected.find(thing.key));
            if (random.next() % 2 == 0) {
                heap.erase(thing);
                ASSERT_EQ(thing.slot, no_slot);
                continue;
            }
            heap.change_key(thing, key);
        }
        thing.key = key;
        expected.insert(key);
        ASSERT_EQ(heap.size(), expected.size());
        ASSERT_EQ(heap.top_key(), *expected.begin());
        ASSERT_EQ(heap.top().key, heap.top_key());
    }
}

TEST(DueHeap, VisitsWhatIsDueAndNothingElse) {
    std::vector<Thing> things(100);
    Heap heap;
    for (std::size_t i = 0; i < things.size(); ++i) {
        things[i].key = static_cast<std::int64_t>((i * 37) % 100);
        heap.push(things[i], things[i].key);
    }
    std::set<std::int64_t> due;
    std::size_t first_three = 0;

    heap.visit_due(41, [&](const Thing& thing) { return due.insert(thing.key).second; });
    heap.visit_due(41, [&](const Thing&) { return ++first_three < 3; });
    heap.visit_due(-1, [&](const Thing&) {
        ADD_FAILURE();
        return true;
    });

    EXPECT_EQ(due.size(), 42u);
    EXPECT_EQ(*due.rbegin(), 41);
    EXPECT_EQ(first_three, 3u);
}

// ---- LinkTable

struct Linked {
    std::uint64_t key = 0;
    std::uint64_t number = 0;
    Linked* link = nullptr;
    bool inside = false;

    static std::size_t hash(const Linked& item) noexcept {
        ++hashed;
        return mixed_hash(item.key);
    }
    static inline std::size_t hashed = 0;
};

using Table = LinkTable<Linked, &Linked::link, &Linked::hash>;

Linked* find(const Table& table, std::uint64_t key) {
    return table.find(mixed_hash(key), [&](const Linked& item) { return item.key == key; });
}

TEST(LinkTable, AgreesWithAMultimapWhileItGrowsAndShrinks) {
    SeededRandom random{7};
    std::vector<Linked> items(4000);
    for (std::size_t i = 0; i < items.size(); ++i) {
        items[i].key = i / 2; // pairs of equals
        items[i].number = i;
    }
    std::map<std::uint64_t, std::set<std::uint64_t>> expected; // numbers by key
    std::size_t count = 0;
    Table table;
    EXPECT_EQ(find(table, 0), nullptr);
    for (int step = 0; step < 60'000; ++step) {
        auto& item = items[random.next() % items.size()];
        // First more come than go, then more go than come.
        const bool wanted = random.next() % 8 != 0;
        if (item.inside == (wanted == (step < 30'000))) {
            continue;
        }
        item.inside ? table.erase(item) : table.insert(item);
        item.inside ? expected[item.key].erase(item.number)
                    : expected[item.key].insert(item.number).second;
        count += item.inside ? std::size_t{0} - 1 : 1;
        item.inside = !item.inside;
        ASSERT_EQ(table.size(), count);
        std::set<std::uint64_t> found;
        table.for_each_near(mixed_hash(item.key), [&](const Linked& near) {
            if (near.key == item.key) {
                found.insert(near.number);
            }
        });
        ASSERT_EQ(found, expected[item.key]);
        ASSERT_EQ(find(table, item.key) != nullptr, !found.empty());
        ASSERT_LE(table.buckets(), 2 * count + 2);
        ASSERT_GE(table.buckets(), count);
    }
    std::size_t disposed = 0;
    table.dispose([&](Linked& item) {
        disposed += item.inside ? 1U : 0U;
        item = {};
    });
    EXPECT_EQ(disposed, count);
    EXPECT_EQ(table.size(), 0u);
    EXPECT_EQ(find(table, 0), nullptr);
}

TEST(LinkTable, NeverMovesManyAtOnce) {
    std::vector<Linked> items(100'000);
    Table table;
    std::size_t most = 0;
    const auto counted = [&](auto&& change) {
        const auto before = Linked::hashed;
        change();
        most = std::max(most, Linked::hashed - before);
    };
    for (std::size_t i = 0; i < items.size(); ++i) {
        items[i].key = i;
        counted([&] { table.insert(items[i]); });
    }
    for (auto& item : items) {
        counted([&] { table.erase(item); });
    }
    EXPECT_LT(most, 50u);
    EXPECT_LE(table.buckets(), 2u);
}

// ---- LongList

TEST(LongList, AgreesWithAVectorAndDoesNotMoveWhenItIsLong) {
    SeededRandom random{3};
    LongList<std::uint64_t> list;
    std::vector<std::uint64_t> expected;
    const std::uint64_t* place = nullptr; // of an item far behind
    for (int step = 0; step < 60'000; ++step) {
        const bool growing = random.next() % 4 != 0;
        if (expected.empty() || growing == (step < 30'000)) {
            list.push_back(random.next());
            expected.push_back(list.back());
        } else {
            list.pop_back();
            expected.pop_back();
        }
        ASSERT_EQ(list.size(), expected.size());
        ASSERT_EQ(list.empty(), expected.empty());
        if (expected.empty()) {
            continue;
        }
        const auto index = random.next() % expected.size();
        list[index] += 1;
        expected[index] += 1;
        ASSERT_EQ(list.front(), expected.front());
        ASSERT_EQ(list.back(), expected.back());
        ASSERT_EQ(std::as_const(list)[index], expected[index]);
        if (step % 1000 == 0) {
            ASSERT_EQ(list.copy(), expected);
        }
        if (expected.size() > 2000) {
            place = place == nullptr ? &list[1500] : place;
            ASSERT_EQ(&list[1500], place);
        }
    }
    EXPECT_NE(place, nullptr);
}

TEST(HistoryLog, GivesEventsAfterAnyId) {
    HistoryLog log;
    log.append(1, "one");
    log.append(2, "two");
    log.append(10, "ten");

    const auto after = log.after(2);

    ASSERT_EQ(after.size(), 1u);
    EXPECT_EQ(after[0], "ten");
    EXPECT_EQ(log.after(0).size(), 3u);
    EXPECT_EQ(log.after(0)[1], "two");
    EXPECT_EQ(log.after(10).size(), 0u);
    EXPECT_EQ(log.after(5).size(), 1u);
    EXPECT_EQ(log.bytes(), 9u);
    EXPECT_EQ(log.find(2), "two");
    EXPECT_EQ(log.find(3), "");
    EXPECT_FALSE(log.contains(3));
}

TEST(HistoryLog, SortsEventsThatArrivedOutOfOrder) {
    HistoryLog log;
    log.append(99999, "poison");
    log.append(3, "three");
    log.append(4, "");

    ASSERT_EQ(log.after(0).size(), 3u);
    EXPECT_EQ(log.after(0)[0], "three");
    EXPECT_EQ(log.after(0)[1], "");
    EXPECT_EQ(log.after(0)[2], "poison");
    EXPECT_EQ(log.after(3)[0], "");
    EXPECT_TRUE(log.contains(4));
    EXPECT_FALSE(log.contains(5));
    EXPECT_EQ(log.last_id(), 99999u);
}

TEST(HistoryLog, KeepsTextsWithLineEndsApart) {
    HistoryLog log;
    log.append(1, "a\nb");
    log.append(2, "\n");

    EXPECT_EQ(log.after(0)[0], "a\nb");
    EXPECT_EQ(log.after(0)[1], "\n");
    log.overwrite(1, "x");
    EXPECT_EQ(log.after(0)[0], "x");
    EXPECT_EQ(log.after(0)[1], "\n");
}

TEST(Shorthand, GivesEveryTextBackAndShortensEvents) {
    const std::string event =
        R"({"event_id":2,"source_event_id":null,"instance_id":"a","execution_id":1,)"
        R"("timestamp_ms":1760000000000,"duroxide_version":"0.1.0","type":"ActivityScheduled",)"
        R"("name":"A","input":"{\"data\":[1,2]}","location":"a.cpp:1","turn":3})";
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) {
        bytes += static_cast<char>(byte);
    }
    std::vector<std::string> texts{event, bytes, bytes + event + bytes, "", ",", "{", ",\"", ",,{"};
    for (std::size_t size = 0; size < event.size(); ++size) {
        texts.push_back(event.substr(0, size)); // cut inside of every word
        texts.push_back(event.substr(size));
    }
    for (const auto& text : texts) {
        std::string shorthand = "before";
        append_shorthand(shorthand, text);
        std::string expanded = "kept";
        append_expanded(expanded, std::string_view{shorthand}.substr(6));
        EXPECT_EQ(expanded, "kept" + text);
    }
    std::string shorthand;
    append_shorthand(shorthand, event);
    EXPECT_LT(shorthand.size(), 80u);
}

TEST(PackedText, HoldsAnyText) {
    const std::string binary{"a\0b\xff", 4};

    EXPECT_EQ(PackedText{binary}.view(), binary);
    EXPECT_EQ(PackedText{""}.view(), "");
    EXPECT_EQ(PackedText{}.view(), "");
    static_assert(sizeof(PackedText) == 8);
    for (const std::size_t size : {1U, 254U, 255U, 256U, 1024U, 70'000U}) {
        const std::string text(size, 'x');
        PackedText packed{text};
        PackedText moved{std::move(packed)};
        EXPECT_EQ(moved.view(), text);
        packed = std::move(moved);
        EXPECT_EQ(packed.view(), text);
        EXPECT_TRUE(packed.given());
    }
    EXPECT_TRUE(PackedText{""}.given());
    EXPECT_FALSE(PackedText{}.given());
}

TEST(Token, ReadsWhatItWrote) {
    const Token token{0x0123456789abcdef, 0x00000000000000ff};

    EXPECT_EQ(token.text(), "0123456789abcdef00000000000000ff");
    EXPECT_EQ(Token::parse(token.text()), token);
    for (const auto* bad : {"",
                            "1",
                            "-123456789abcdef00000000000000ff",
                            "0123456789abcdef00000000000000fg",
                            "0123456789abcdef00000000000000ff0"}) {
        EXPECT_EQ(Token::parse(bad), std::nullopt) << bad;
    }
}

TEST(StringPool, ForgetsWhatNobodyHolds) {
    StringPool pool;
    const auto* first = pool.acquire("Order");
    const auto* second = pool.acquire("Order");

    EXPECT_EQ(first, second);
    pool.release(first);
    EXPECT_EQ(pool.find("Order"), second);
    pool.release(second);
    EXPECT_EQ(pool.find("Order"), nullptr);
    pool.release(nullptr);
}

TEST(Soonest, SurvivesTimesThatLieCenturiesApart) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    Soonest soonest;

    EXPECT_EQ(soonest.wait(), std::nullopt);
    soonest.consider(most, least);
    EXPECT_EQ(soonest.wait(), Duration::max());
    soonest.consider(5, 2);
    EXPECT_EQ(soonest.wait(), Duration{3});
    soonest.consider(least, most);
    EXPECT_EQ(soonest.wait(), Duration::zero());
}

TEST(Random, RepeatsItselfForTheSameSeedAndNotOtherwise) {
    SeededRandom first{1};
    SeededRandom again{1};
    SeededRandom other{2};
    const auto number = first.next();

    EXPECT_EQ(again.next(), number);
    EXPECT_NE(other.next(), number);
    EXPECT_NE(first.next(), number);
}

TEST(Random, TheSystemsNumbersDoNotRepeat) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1000; ++i) {
        EXPECT_TRUE(seen.insert(system_random()->next()).second);
    }
}

// ---- Messages

struct ATimer {
    Instance instance{.own_id = PackedText{"i"}};
    Message message{.instance = &instance,
                    .visible_at = from_epoch_ms(5000),
                    .execution_id = 3,
                    .timer_id = 7,
                    .kind = item_kind<work::TimerFired>};
    work::TimerFired item{.instance = "i", .execution_id = 3, .id = 7, .fire_at_ms = 5000};

    std::string text() const { return encode(WorkItem{item}).value(); }
};

TEST(Message, OfAPlainTimerIsWrittenAnew) {
    ATimer timer;

    timer.message.keep(timer.text());

    EXPECT_FALSE(timer.message.own_text.given());
    EXPECT_EQ(timer.message.text(), timer.text());
}

TEST(Message, OfATimerThatSaysMoreIsKept) {
    ATimer late; // shown after it was due
    late.item.fire_at_ms = 4000;
    ATimer newer; // with a member of a later version
    newer.item.extra = R"("more":1)";
    ATimer damaged;

    late.message.keep(late.text());
    newer.message.keep(newer.text());
    damaged.message.keep("");

    EXPECT_EQ(late.message.text(), late.text());
    EXPECT_EQ(newer.message.text(), newer.text());
    EXPECT_EQ(damaged.message.text(), "");
}

} // namespace
} // namespace durable::ledger
