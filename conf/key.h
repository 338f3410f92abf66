/* SPDX-License-Identifier: Apache-2.0 */
/* A key of the tables keys.def and api/soft_keys.def, and the parser of its value. */
#ifndef CONF_KEY_H
#define CONF_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"

enum conf_section { CONF_SECTION_SERVER, CONF_SECTION_GPU };

enum conf_type {
    CONF_TYPE_TEXT,   /* char[CONF_TEXT_MAX] */
    CONF_TYPE_NUMBER, /* uint32_t */
    CONF_TYPE_BYTES,  /* uint64_t, with KiB, MiB, GiB, TiB */
    CONF_TYPE_TIME,   /* uint64_t: ns, with ns, us, ms, s; none, where 0 is allowed */
    CONF_TYPE_POLICY, /* const struct sched_policy *: a name of sched/ */
    CONF_TYPE_PORTS,  /* struct conf_ports */
    CONF_TYPE_FLAG,   /* bool: yes or no */
    CONF_TYPE_AUTO,   /* bool: auto or off */
    CONF_TYPE_SWITCH, /* bool: on or off */
    CONF_TYPE_FULL,   /* bool: deny or drop */
    CONF_TYPE_LEVEL,  /* enum ga_log_level */
    CONF_TYPE_FORMAT, /* enum ga_log_format */
    CONF_TYPE_DRIVER, /* enum conf_driver */
    CONF_TYPE_LISTEN, /* appended to struct conf_server's list */
    CONF_TYPE_SOFT,   /* one of soft_keys: goes into soft and soft_given of struct conf_gpu */
};

/* Bits of conf_key.drivers. */
#define CONF_DRIVERS_SOFT   (1u << CONF_DRIVER_SOFT)
#define CONF_DRIVERS_NVIDIA (1u << CONF_DRIVER_NVIDIA)
#define CONF_DRIVERS_ALL    (CONF_DRIVERS_SOFT | CONF_DRIVERS_NVIDIA)

/* The need of a changed value. */
enum conf_change { CONF_CHANGE_RESTART, CONF_CHANGE_RELOAD };

struct conf_key {
    enum conf_section section;
    const char *name;
    enum conf_type type;
    size_t offset; /* in struct conf_server or struct conf_gpu */
    const char *standard;
    uint64_t least, most;
    unsigned drivers;
    enum conf_change change;
    const char *allowed, *help;
};

#define CONF_KEYS_MAX 96u
extern const struct conf_key conf_keys[];
extern const size_t conf_key_count;

/* The values that are allowed, for people. Main thread. */
const char *conf_key_allowed(const struct conf_key *key);
/* For an operator, with what the policies say of a key of theirs. Main thread. */
const char *conf_key_help(const struct conf_key *key);
/* Whether it belongs to the scheduling of a GPU: those change while GPUs are used. */
bool conf_key_schedules(const struct conf_key *key);
/* The file has given the key, which may be of the scheduling. */
void conf_scheduling_note(struct conf_scheduling *scheduling, const struct conf_key *key);
/* Bytes of the member; 0: it is no single value. */
size_t conf_key_bytes(const struct conf_key *key);
/* Whether two structs have the same value. */
bool conf_key_same(const struct conf_key *key, const void *one, const void *other);
/* Reads `text` into the member of `into` (struct conf_server or struct conf_gpu). False: it is not
 * allowed, nothing changed. */
bool conf_key_read(const struct conf_key *key, const char *text, unsigned line, void *into);

#endif
