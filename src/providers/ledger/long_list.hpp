// LongList: a vector of plain values that does not move them when it is long. A std::vector of a
// million values moves all of them at once when it grows, and then has up to a million unused
// places.

#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace durable::ledger {

template <class T>
class LongList {
    static_assert(std::is_trivially_copyable_v<T>);

 public:
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    [[nodiscard]] T& operator[](std::size_t index) noexcept { return *at(index); }
    [[nodiscard]] const T& operator[](std::size_t index) const noexcept { return *at(index); }
    [[nodiscard]] const T& front() const noexcept { return *at(0); }
    [[nodiscard]] const T& back() const noexcept { return *at(size_ - 1); }

    void push_back(const T& value) {
        if (size_ < chunk) {
            short_.push_back(value);
            ++size_;
            return;
        }
        if (chunks_.size() < size_ / chunk) {
            chunks_.push_back(std::make_unique_for_overwrite<T[]>(chunk));
        }
        *at(size_++) = value;
    }

    void pop_back() {
        --size_;
        if (size_ < chunk) {
            short_.pop_back();
        } else if (chunks_.size() > size_ / chunk + 1) {
            chunks_.pop_back(); // keeps one empty chunk for the next push
        }
    }

    [[nodiscard]] std::vector<T> copy() const {
        std::vector<T> all;
        all.reserve(size_);
        for (std::size_t index = 0; index < size_; ++index) {
            all.push_back(*at(index));
        }
        return all;
    }

 private:
    static constexpr std::size_t chunk = 512;

    [[nodiscard]] T* at(std::size_t index) noexcept {
        return index < chunk ? &short_[index] : &chunks_[index / chunk - 1][index % chunk];
    }
    [[nodiscard]] const T* at(std::size_t index) const noexcept {
        return index < chunk ? &short_[index] : &chunks_[index / chunk - 1][index % chunk];
    }

    std::vector<T> short_;                     // the first of them
    std::vector<std::unique_ptr<T[]>> chunks_; // the others
    std::size_t size_ = 0;
};

} // namespace durable::ledger
