/* SPDX-License-Identifier: Apache-2.0 */
/* A scenario while it is read. */
#ifndef SIM_SCENARIO_READING_H
#define SIM_SCENARIO_READING_H

#include "sim/key.h"

struct sim_reading_section {
    char name[SIM_NAME_BYTES + 16];
    enum sim_section kind;
    uint32_t row;                /* of its kind */
    unsigned line;               /* of its first key; 0: a setting */
    bool unusable;               /* its name is wrong: told once */
    uint32_t seen[SIM_KEYS_MAX]; /* line of each key; 0: not given; UINT32_MAX: by a setting */
};

struct sim_reading {
    struct sim_scenario *scenario;
    struct conf_ini ini;
    bool overriding; /* settings may give what the file has given */
    bool no_memory;
    struct sim_reading_section *sections;
    size_t section_count, section_room;
};

void *sim_reading_row(const struct sim_reading *reading, enum sim_section kind, uint32_t index);

/* A node without a section: all its keys have their defaults. */
void sim_reading_node(struct sim_reading *reading, uint32_t number);

/* Checks what keys say together, completes what they leave out, and turns names into indices. */
void sim_scenario_check(struct sim_reading *reading);

#endif
