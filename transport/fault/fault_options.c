/* SPDX-License-Identifier: Apache-2.0 */
/* The options of an address that breaks connections: NAME=NUMBER, separated by &. */
#include "transport/fault/fault_options.h"

#include <stdlib.h>
#include <string.h>

static bool option_set(struct faults *faults, const char *name, size_t length, uint64_t value)
{
    const struct {
        const char *name;
        uint64_t *at;
    } known[] = {
        {"most", &faults->most},
        {"again", &faults->again},
        {"delay_us", &faults->delay_us},
        {"on", &faults->on},
        {"reset_in", &faults->reset[IN]},
        {"reset_out", &faults->reset[OUT]},
        {"silent_in", &faults->silent[IN]},
        {"silent_out", &faults->silent[OUT]},
        {"corrupt_in", &faults->corrupt[IN]},
        {"corrupt_out", &faults->corrupt[OUT]},
        {"half_in", &faults->half[IN]},
        {"half_out", &faults->half[OUT]},
        {"cut_in", &faults->frames[IN].cut},
        {"cut_out", &faults->frames[OUT].cut},
        {"twice_in", &faults->frames[IN].twice},
        {"twice_out", &faults->frames[OUT].twice},
        {"swap_in", &faults->frames[IN].swap},
        {"swap_out", &faults->frames[OUT].swap},
        {"long_in", &faults->frames[IN].lengthen},
        {"long_out", &faults->frames[OUT].lengthen},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) == length && strncmp(known[i].name, name, length) == 0) {
            *known[i].at = value;
            return true;
        }
    }
    return false;
}

bool faults_parse(const char *text, struct faults *faults)
{
    *faults = (struct faults){.most = FAULTS_NEVER,
                              .reset = {FAULTS_NEVER, FAULTS_NEVER},
                              .silent = {FAULTS_NEVER, FAULTS_NEVER},
                              .corrupt = {FAULTS_NEVER, FAULTS_NEVER},
                              .half = {FAULTS_NEVER, FAULTS_NEVER}};
    while (*text != 0) {
        size_t name = strcspn(text, "=&");
        char *end;
        if (text[name] != '=') {
            return false;
        }
        uint64_t value = strtoull(text + name + 1, &end, 10);
        if (end == text + name + 1 || (*end != 0 && *end != '&') ||
            !option_set(faults, text, name, value)) {
            return false;
        }
        text = *end == '&' ? end + 1 : end;
    }
    return faults->most != 0;
}
