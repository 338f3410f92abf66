/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "base/amount.h"
#include "sched/policy.h"

static const struct sched_setting settings_table[] = {
#define SCHED_SETTING(id_, name_, of_, kind_, member_, standard_, least_, most_, allowed_, help_)  \
    {.name = name_,                                                                                \
     .of = SCHED_OF_##of_,                                                                         \
     .kind = SCHED_KIND_##kind_,                                                                   \
     .offset = offsetof(struct sched_settings, member_),                                           \
     .standard = standard_,                                                                        \
     .least = least_,                                                                              \
     .most = most_,                                                                                \
     .allowed = allowed_,                                                                          \
     .help = help_},
#include "sched/settings.def"
};

const struct sched_setting *sched_setting_at(size_t i)
{
    return i < sizeof settings_table / sizeof *settings_table ? &settings_table[i] : NULL;
}

uint64_t sched_setting_value(const struct sched_setting *setting,
                             const struct sched_settings *settings)
{
    const void *member = (const char *)settings + setting->offset;
    return setting->kind == SCHED_KIND_TIME ? *(const uint64_t *)member : *(const uint32_t *)member;
}

struct sched_settings sched_settings_default(void)
{
    struct sched_settings settings = {.slice_ns = 0};
    const struct sched_setting *setting;
    for (size_t i = 0; (setting = sched_setting_at(i)) != NULL; i++) {
        void *member = (char *)&settings + setting->offset;
        const char *end;
        uint64_t value = 0;
        if (setting->kind == SCHED_KIND_TIME) {
            (void)ga_time_read(setting->standard, &value);
            *(uint64_t *)member = value;
        } else {
            (void)ga_digits_read(setting->standard, &end, &value);
            *(uint32_t *)member = (uint32_t)value;
        }
    }
    return settings;
}

/* A relation of two settings, for policies that use both. */
struct order {
    bool holds;
    const char *key;
    uint64_t value_ns;
    const char *must, *other;
    uint64_t other_ns;
    const char *because;
};

static void settings_number_write(uint64_t value, enum sched_setting_kind kind,
                                  char text[GA_AMOUNT_BYTES])
{
    if (kind == SCHED_KIND_TIME) {
        ga_time_write(value, text);
    } else {
        snprintf(text, GA_AMOUNT_BYTES, "%" PRIu64, value);
    }
}

static bool bounds_hold(const struct sched_settings *settings, char *why, size_t why_room)
{
    const struct sched_setting *setting;
    for (size_t i = 0; (setting = sched_setting_at(i)) != NULL; i++) {
        uint64_t value = sched_setting_value(setting, settings);
        char is[GA_AMOUNT_BYTES], least[GA_AMOUNT_BYTES], most[GA_AMOUNT_BYTES];
        if (value < setting->least || value > setting->most) {
            settings_number_write(value, setting->kind, is);
            settings_number_write(setting->least, setting->kind, least);
            settings_number_write(setting->most, setting->kind, most);
            snprintf(why, why_room, "%s: %s is not allowed: it must be between %s and %s",
                     setting->name, is, least, most);
            return false;
        }
    }
    return true;
}

static bool orders_hold(const struct sched_policy *policy, const struct sched_settings *settings,
                        char *why, size_t why_room)
{
    const uint64_t slice = settings->slice_ns, epoch = settings->epoch_ns,
                   quantum = settings->quantum_ns, horizon = settings->horizon_ns,
                   hold = settings->hold_ns, window = settings->cap_window_ns;
    static const char *const at_least = "at least as long as", *const at_most =
                                                                   "at most as long as";
    const struct order orders[] = {
        {epoch >= slice, "epoch", epoch, at_least, "slice", slice, ""},
        {quantum > slice, "quantum", quantum, "longer than", "slice", slice,
         ": service counts from the end of a quantum on, and a quantum of one slice would be round "
         "robin"},
        {horizon <= slice, "horizon", horizon, at_most, "slice", slice,
         ": what is submitted ahead runs on when a turn ends"},
        {hold <= epoch, "hold", hold, at_most, "epoch", epoch, ""},
        {window >= slice, "cap_window", window, at_least, "slice", slice, ""},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        const struct order *order = &orders[i];
        char value[GA_AMOUNT_BYTES], other[GA_AMOUNT_BYTES];
        if (!order->holds && sched_policy_uses(policy, order->key) &&
            sched_policy_uses(policy, order->other)) {
            ga_time_write(order->value_ns, value);
            ga_time_write(order->other_ns, other);
            snprintf(why, why_room, "%s: %s is not allowed: it must be %s %s, which is %s%s",
                     order->key, value, order->must, order->other, other, order->because);
            return false;
        }
    }
    return true;
}

enum ga_status sched_settings_check(const struct sched_policy *policy,
                                    const struct sched_settings *settings,
                                    const struct sched_gpu *gpu, char *why, size_t why_room)
{
    if (!bounds_hold(settings, why, why_room) || !orders_hold(policy, settings, why, why_room)) {
        return GA_INVALID;
    }
    if (gpu->copy_engines < 1 || gpu->copy_engines > 2) {
        snprintf(why, why_room, "copy_engines: a GPU has one or two, not %u", gpu->copy_engines);
        return GA_INVALID;
    }
    return policy->check == NULL ? GA_OK : policy->check(settings, gpu, why, why_room);
}
