// DURABLE_CHECK: an invariant that only a bug in the library can break.
//
// A check that fails ends the process at once, with one line on stderr. Going on could store what
// is wrong; a process that ended goes on from what is stored when it is started again. Bad input,
// full disks and lost leases are no bugs: they are answered with an Error.
//
// Checks are on in every build, also in releases, so each must cost next to nothing where it
// stands. What walks over whole structures belongs into a function for the tests (see
// Ledger::check).

#pragma once

namespace durable {

[[noreturn]] void check_failed(const char* condition, const char* message, const char* where);

} // namespace durable

#define DURABLE_CHECK_TEXT_(line) #line
#define DURABLE_CHECK_LINE_(line) DURABLE_CHECK_TEXT_(line)

// `message` says in plain words what should have been true.
#define DURABLE_CHECK(condition, message)                                                          \
    (__builtin_expect(static_cast<bool>(condition), 1)                                             \
         ? static_cast<void>(0)                                                                    \
         : ::durable::check_failed(                                                                \
               #condition, message, __FILE_NAME__ ":" DURABLE_CHECK_LINE_(__LINE__)))
