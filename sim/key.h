/* SPDX-License-Identifier: Apache-2.0 */
/* A key of keys.def or api/soft_keys.def, and the reader of its value. */
#ifndef SIM_KEY_H
#define SIM_KEY_H

#include "sim/scenario.h"

enum sim_section {
    SIM_SECTION_RUN,
    SIM_SECTION_POLICY,
    SIM_SECTION_NODE,
    SIM_SECTION_GPU,
    SIM_SECTION_APP,
    SIM_SECTION_STREAM,
    SIM_SECTIONS
};

enum sim_key_type {
    SIM_TYPE_NUMBER,
    SIM_TYPE_TIME,
    SIM_TYPE_REAL,
    SIM_TYPE_FLAG,
    SIM_TYPE_NAME,
    SIM_TYPE_PATH,
    SIM_TYPE_WORD,
    SIM_TYPE_SOFT, /* goes into device and given of struct sim_gpu_keys */
};

struct sim_key {
    enum sim_section section;
    const char *name;
    enum sim_key_type type;
    size_t offset; /* in the struct of the section */
    const char *standard;
    double least, most;
    const char *allowed, *help;
};

#define SIM_KEYS_MAX 128u
extern const struct sim_key sim_keys[];
extern const size_t sim_key_count; /* at most SIM_KEYS_MAX */

/* False: the text is not allowed, nothing changed. `given`: not a default. */
bool sim_key_read(const struct sim_key *key, const char *text, bool given, void *into);

#endif
