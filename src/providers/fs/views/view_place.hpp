// ViewPlace: a directory that `durable export` may fill, and the proof of what it made there.
//
// Outside of the store the proof is the file VIEWS: the store on the first line, then the name of
// every view, written before the view itself. Only what is named there may be replaced or removed;
// a directory that holds anything else is refused before anything is changed. Inside the store,
// instances/ belongs to it as a whole and has no such file.

#pragma once

#include "base/files.hpp"

#include <durable/result.hpp>

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace durable::fs {

class ViewPlace {
 public:
    // Makes the directory if it does not exist.
    //   invalid_argument  it holds something else than views of this store, or lies inside the
    //                     store, but is not its place for views
    [[nodiscard]] static Result<ViewPlace>
    open(Files& files, const std::string& store, const std::string& target);

    // To be called before views with these names are written.
    [[nodiscard]] Result<> announce(const std::vector<std::string>& names);

    // Removes the views with other names; how many.
    [[nodiscard]] Result<std::uint64_t> keep_only(const std::unordered_set<std::string>& names);

 private:
    ViewPlace(Files& files, std::string target) : files_{files}, target_{std::move(target)} {}

    [[nodiscard]] std::string list_path() const;
    [[nodiscard]] Result<> read_list();
    [[nodiscard]] Result<> check_entries(bool own) const;
    [[nodiscard]] Result<> remove_leftovers();
    [[nodiscard]] Result<> write_list(const std::unordered_set<std::string>& names);

    Files& files_;
    std::string target_;
    std::string first_line_; // empty: the store's own place
    std::unordered_set<std::string> announced_;
    std::unique_ptr<File> list_; // open to append
    std::uint64_t list_size_ = 0;
};

} // namespace durable::fs
