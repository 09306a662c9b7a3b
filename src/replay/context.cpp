#include "replay/retry.hpp"

#include <durable/context.hpp>

#include <string>

namespace durable {

namespace {

using detail::StepKind;
using replay::is_plain;

} // namespace

detail::Slot*
detail::schedule_call(Engine& engine, const StepRequest& request, const CallOptions& options) {
    return is_plain(options) ? engine.schedule(request)
                             : engine.schedule_retrying(request, options);
}

detail::Slot* Context::call_undoable(Text name,
                                     Input input,
                                     detail::UndoRequest undo,
                                     const CallOptions& options,
                                     Where where) const {
    return engine().schedule_kept({.kind = StepKind::activity,
                                   .name = name,
                                   .input = input.text,
                                   .recode = input.recode,
                                   .tag = options.tag,
                                   .session = options.session,
                                   .where = where},
                                  options,
                                  &undo);
}

detail::Slot*
Context::call_activity(Text name, Input input, const CallOptions& options, Where where) const {
    const detail::StepRequest request{.kind = StepKind::activity,
                                      .name = name,
                                      .input = input.text,
                                      .recode = input.recode,
                                      .tag = options.tag,
                                      .session = options.session,
                                      .where = where};
    return options.on_cancel == CancelPolicy::wait
               ? engine().schedule_kept(request, options, nullptr)
               : detail::schedule_call(engine(), request, options);
}

detail::Slot*
Context::call_child(Text name, Input input, const ChildOptions& options, Where where) const {
    return engine().schedule({.kind = StepKind::child,
                              .name = name,
                              .input = input.text,
                              .recode = input.recode,
                              .child_id = options.id,
                              .version = options.version,
                              .child_policy = options.when_dropped,
                              .where = where});
}

detail::Slot* Context::subscribe(StepKind kind, Text name, Where where) const {
    return engine().schedule({.kind = kind, .name = name, .where = where});
}

detail::Slot*
Context::continue_as(Text name, Input input, const ContinueOptions& options, Where where) const {
    return engine().continue_as_new({.name = name,
                                     .input = input.text,
                                     .recode = input.recode,
                                     .version = options.version,
                                     .where = where});
}

void Context::compensate(Text name, Input input, const CallOptions& options, Where where) const {
    engine().compensate_with({.name = name,
                              .input = input.text,
                              .recode = input.recode,
                              .tag = options.tag,
                              .session = options.session,
                              .where = where},
                             options);
}

std::string
Context::detach(Text name, Input input, const DetachedOptions& options, Where where) const {
    return engine().start_detached({.name = name,
                                    .input = input.text,
                                    .recode = input.recode,
                                    .child_id = options.id,
                                    .version = options.version,
                                    .where = where});
}

Operation<void> Context::sleep(Timespan duration, Where where) const {
    return Operation<void>{engine().schedule({.kind = StepKind::timer,
                                              .fire_at = add_saturating(now(), duration),
                                              .from_now = true,
                                              .where = where})};
}

Operation<void> Context::sleep_until(Instant moment, Where where) const {
    return Operation<void>{
        engine().schedule({.kind = StepKind::timer, .fire_at = moment, .where = where})};
}

void Context::set_status(std::string_view status, Where where) const {
    engine().set_status(status, where);
}

void Context::clear_status(Where where) const {
    engine().set_status(std::nullopt, where);
}

std::optional<std::string> Context::status() const {
    return engine().status();
}

std::string Context::new_uuid() const {
    return engine().new_uuid();
}

bool Context::patched(std::string_view id, Where where) const {
    return engine().patched(id, where);
}

void Context::log(LogLevel level, std::string_view message, Where where) const {
    engine().log(level, message, where);
}

const std::string& Context::orchestration() const {
    return engine().orchestration_name();
}

const std::string& Context::version() const {
    return engine().orchestration_version();
}

Operation<std::string>
Context::call_raw(Text activity, Text input, CallOptions options, Where where) const {
    return Operation<std::string>{call_activity(activity, {input}, options, where)};
}

Operation<std::string> Context::call_undoable_raw(Text activity,
                                                  Text input,
                                                  Text undo,
                                                  CallOptions options,
                                                  CallOptions undo_options,
                                                  Where where) const {
    return Operation<std::string>{call_undoable(
        activity, {input}, {.activity = undo, .options = &undo_options}, options, where)};
}

Operation<std::string>
Context::call_child_raw(Text orchestration, Text input, ChildOptions options, Where where) const {
    return Operation<std::string>{call_child(orchestration, {input}, options, where)};
}

Operation<std::string> Context::wait_for_raw(Text event, Where where) const {
    return Operation<std::string>{subscribe(StepKind::event, event, where)};
}

Operation<std::string> Context::dequeue_raw(Text queue, Where where) const {
    return Operation<std::string>{subscribe(StepKind::queue, queue, where)};
}

void Context::on_failure_raw(Text activity, Text input, CallOptions options, Where where) const {
    compensate(activity, {input}, options, where);
}

Operation<std::string>
Context::continue_as_new_raw(Text input, ContinueOptions options, Where where) const {
    return Operation<std::string>{continue_as(orchestration(), {input}, options, where)};
}

std::string Context::start_detached_raw(Text orchestration,
                                        Text input,
                                        DetachedOptions options,
                                        Where where) const {
    return detach(orchestration, {input}, options, where);
}

} // namespace durable
