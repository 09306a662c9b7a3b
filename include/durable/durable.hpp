// libdurable: start here. Everything that a program needs to define, run and call orchestrations.
//
//   contract.hpp          names and types: Activity, Orchestration, Event, Queue
//   context.hpp task.hpp  what an orchestration may do
//   registry.hpp          which code fulfils which contract
//   runtime.hpp           runs it
//   client.hpp            starts instances, sends them messages, waits for results
//   management.hpp        looks inside a store, deletes, prunes
//   memory.hpp            a store for trying things out

#pragma once

#include <durable/activity_context.hpp> // IWYU pragma: export
#include <durable/client.hpp>           // IWYU pragma: export
#include <durable/context.hpp>          // IWYU pragma: export
#include <durable/contract.hpp>         // IWYU pragma: export
#include <durable/fs.hpp>               // IWYU pragma: export
#include <durable/management.hpp>       // IWYU pragma: export
#include <durable/memory.hpp>           // IWYU pragma: export
#include <durable/payload.hpp>          // IWYU pragma: export
#include <durable/registry.hpp>         // IWYU pragma: export
#include <durable/result.hpp>           // IWYU pragma: export
#include <durable/runtime.hpp>          // IWYU pragma: export
#include <durable/task.hpp>             // IWYU pragma: export
#include <durable/time.hpp>             // IWYU pragma: export
