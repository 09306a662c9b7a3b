// The filesystem provider: one directory, no dependencies, one process at a time.
//
// Every change is one line in a journal, made durable before anything that depends on it leaves the
// process: a client's answer, an activity's run, a read. docs/storage/fs.md draws every byte.
//
// Promise P12 in detail: a change that a call made is durable when the call returns, except for the
// end of a turn (ack_orchestration_item) and of an activity (ack_work_item). These are durable
// within milliseconds, in order, and before a consequence of them leaves the process. A crash in
// between means that the turn runs again from the same messages, as after a crash just before the
// call.

#pragma once

#include <durable/log.hpp>
#include <durable/provider.hpp>
#include <durable/result.hpp>
#include <durable/store_access.hpp>
#include <durable/time.hpp>

#include <memory>
#include <string>

namespace durable::fs {

struct Options {
    std::shared_ptr<Clock> clock{}; // nullptr: the machine's
    // power_loss: changes are synced to the disk. process_crash: they are handed to the system,
    // which is faster and survives kill -9, but not a power cut.
    Durability durability = Durability::power_loss;
    // How long a message waits for an instance that has not started (P6).
    Timespan unstarted_message_ttl = std::chrono::hours{1};
    // Every instance also as a directory of files for people (less, grep, jq) in instances/,
    // written soon after each change: for development and stores of some thousand instances.
    // Without it `durable export` writes the same files on request.
    bool readable_views = false;
    // Which users may open what the store makes; see store_access.hpp.
    StoreAccess access = StoreAccess::owner;
    std::shared_ptr<Logger> logger{}; // warnings of opening; nullptr: to stderr
};

// Opens the store in this directory, which is made if it does not exist. A relative path counts
// from the current working directory, also when that changes later. The store stays with this
// process: in a child made by fork every call fails with storage_failed and changes nothing.
//   unavailable       another process has it open (the message names it), or the disk is full
//   invalid_argument  the directory holds something else and is left alone, its path is empty or
//                     has a NUL byte, durability is `none`, or the ttl is negative
//   unsupported       a newer version of the library wrote it
//   corrupt           stored data is damaged; the message names file and offset
//   storage_failed    the file system refused, or one of the store's files is a symbolic link or no
//                     regular file
// Warns once, through the logger, when more users than `access` says can read the directory.
[[nodiscard]] Result<std::shared_ptr<Provider>> open(const std::string& directory,
                                                     Options options = {});

} // namespace durable::fs
