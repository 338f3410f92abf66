/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "base/amount.h"
#include "base/clock.h"
#include "sched/policy.h"

struct sched_settings sched_settings_default(void)
{
    return (struct sched_settings){.slice_ns = 10 * GA_NS_PER_MS,
                                   .epoch_ns = 100 * GA_NS_PER_MS,
                                   .quantum_ns = GA_NS_PER_S,
                                   .horizon_ns = 2 * GA_NS_PER_MS,
                                   .hold_ns = 500 * GA_NS_PER_US,
                                   .patience_ns = 2 * GA_NS_PER_S,
                                   .group_slice_ns = 100 * GA_NS_PER_MS,
                                   .group_excess_percent = 10,
                                   .aging_ns = GA_NS_PER_S,
                                   .passed_max = 10,
                                   .las_passed_max = 100,
                                   .cap_window_ns = 100 * GA_NS_PER_MS,
                                   .bandwidth_percent = 100,
                                   .batch_percent = 5};
}

/* Conditions for every policy: bounds of settings, and relations between two of them. */
struct bound {
    const char *key;
    uint64_t value, least, most;
    bool is_time;
};
struct order {
    bool holds;
    const char *key;
    uint64_t value_ns;
    const char *must, *other;
    uint64_t other_ns;
    const char *because;
};

static void settings_number_write(uint64_t value, bool is_time, char text[GA_AMOUNT_BYTES])
{
    if (is_time) {
        ga_time_write(value, text);
    } else {
        snprintf(text, GA_AMOUNT_BYTES, "%" PRIu64, value);
    }
}

static bool bounds_hold(const struct sched_settings *settings, char *why, size_t why_room)
{
    const uint64_t hour = 3600 * GA_NS_PER_S;
    const struct bound bounds[] = {
        {"slice", settings->slice_ns, 10 * GA_NS_PER_US, hour, true},
        {"epoch", settings->epoch_ns, 0, hour, true},
        {"quantum", settings->quantum_ns, 0, hour, true},
        {"horizon", settings->horizon_ns, GA_NS_PER_US, hour, true},
        {"patience", settings->patience_ns, 0, hour, true},
        {"group_slice", settings->group_slice_ns, 0, hour, true},
        {"group_excess", settings->group_excess_percent, 0, 100, false},
        {"aging", settings->aging_ns, 0, hour, true},
        {"passed_max", settings->passed_max, 1, UINT32_MAX, false},
        {"cap_window", settings->cap_window_ns, 0, hour, true},
        {"bandwidth_percent", settings->bandwidth_percent, 1, 1000, false},
        {"batch_percent", settings->batch_percent, 0, 100, false},
    };
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        const struct bound *bound = &bounds[i];
        char value[GA_AMOUNT_BYTES], least[GA_AMOUNT_BYTES], most[GA_AMOUNT_BYTES];
        if (bound->value < bound->least || bound->value > bound->most) {
            settings_number_write(bound->value, bound->is_time, value);
            settings_number_write(bound->least, bound->is_time, least);
            settings_number_write(bound->most, bound->is_time, most);
            snprintf(why, why_room, "%s: %s is not allowed: it must be between %s and %s",
                     bound->key, value, least, most);
            return false;
        }
    }
    return true;
}

static bool orders_hold(const struct sched_settings *settings, char *why, size_t why_room)
{
    const uint64_t slice = settings->slice_ns, epoch = settings->epoch_ns,
                   quantum = settings->quantum_ns, horizon = settings->horizon_ns,
                   hold = settings->hold_ns, group = settings->group_slice_ns,
                   window = settings->cap_window_ns;
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
        {group >= slice, "group_slice", group, at_least, "slice", slice, ""},
        {window >= slice, "cap_window", window, at_least, "slice", slice, ""},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        const struct order *order = &orders[i];
        char value[GA_AMOUNT_BYTES], other[GA_AMOUNT_BYTES];
        if (!order->holds) {
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
    if (!bounds_hold(settings, why, why_room) || !orders_hold(settings, why, why_room)) {
        return GA_INVALID;
    }
    if (gpu->copy_engines < 1 || gpu->copy_engines > 2) {
        snprintf(why, why_room, "copy_engines: a GPU has one or two, not %u", gpu->copy_engines);
        return GA_INVALID;
    }
    return policy->check == NULL ? GA_OK : policy->check(settings, gpu, why, why_room);
}
