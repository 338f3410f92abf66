/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of tenants and users (limits.def), and their texts: "gpu-mem=40GiB".
 *
 * A text that limits_value_write has written is read as the same value. `why` gets one line for
 * people that names what is allowed; it is written only on failure. */
#ifndef API_LIMITS_H
#define API_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define LIMIT_NONE       UINT64_MAX /* no limit: "-" */
#define LIMITS_VALUE_MAX INT64_MAX  /* the largest value of a limit */
#define LIMITS_TEXT_MAX  32         /* bytes of a value as text, with its end */
#define LIMITS_TYPES_MAX 256        /* bytes of a list of types of GPU, with its end */

enum limit {
#define LIMIT(name, key, json, unit, least, most, users, text) LIMIT_##name,
#include "api/limits.def"
#undef LIMIT
    LIMIT_COUNT,
};

enum limits_unit {
    LIMITS_BYTES,
    LIMITS_COUNT,
    LIMITS_MILLISECONDS,
    LIMITS_PER_SECOND,
    LIMITS_BYTES_PER_SECOND,
    LIMITS_PER_CENT,
};

struct limits_facts {
    const char *key, *json, *text;
    enum limits_unit unit;
    uint64_t least, most;
    bool users; /* a user of a tenant may have it, too */
};

struct limits {
    uint64_t of[LIMIT_COUNT]; /* in the limit's unit; LIMIT_NONE */
};

/* How applications are kept apart. `app`: each application has its own backend process.
 * `exclusive`: a GPU serves one tenant at a time, too. */
enum isolation { ISOLATION_APP, ISOLATION_EXCLUSIVE };
/* When the GPU time of a day or month is used up: new sessions are refused; or the tenant's
 * running sessions end, too. */
enum exhausted { EXHAUSTED_DENY, EXHAUSTED_SUSPEND };

extern const struct limits_facts limits_table[LIMIT_COUNT];

/* None. */
void limits_clear(struct limits *limits);
/* LIMIT_COUNT: no limit has this key. The second one is for members of JSON objects. */
enum limit limits_find(const char *key);
enum limit limits_find_json(const char *json);

/* Sets one limit from "key=value": a number with its unit, or "-" for none. gpu-seconds is also
 * typed as gpu-seconds=100h/month or .../day. GA_NOT_FOUND: there is no such limit. GA_INVALID: the
 * value is wrong. */
GA_CHECKED enum ga_status limits_read(const char *text, struct limits *limits, char *why,
                                      size_t why_size);
/* The value alone, "40GiB". GA_INVALID. */
GA_CHECKED enum ga_status limits_value_read(enum limit limit, const char *text, uint64_t *value,
                                            char *why, size_t why_size);
/* As a number: within what limits_value_read allows, or LIMIT_NONE. GA_INVALID. */
GA_CHECKED enum ga_status limits_value_check(enum limit limit, uint64_t value, char *why,
                                             size_t why_size);
/* "40GiB", "100h", "-". */
void limits_value_write(enum limit limit, uint64_t value, char text[LIMITS_TEXT_MAX]);

/* Whether no limit of `part` is above that of `whole`; *which is the first that is. A limit that
 * `part` does not have is not above. */
bool limits_within(const struct limits *part, const struct limits *whole, enum limit *which);
/* The stricter of both, limit by limit. */
void limits_stricter(const struct limits *one, const struct limits *other, struct limits *out);

/* GA_UNSUPPORTED: "shared", which is not in this version. GA_INVALID. */
GA_CHECKED enum ga_status limits_isolation_read(const char *text, enum isolation *isolation,
                                                char *why, size_t why_size);
const char *limits_isolation_name(enum isolation isolation);
/* GA_INVALID. */
GA_CHECKED enum ga_status limits_exhausted_read(const char *text, enum exhausted *exhausted,
                                                char *why, size_t why_size);
const char *limits_exhausted_name(enum exhausted exhausted);
/* A list of types of GPU: names of letters, digits, '.', '_', '-' and spaces inside, a letter or
 * digit first, with commas
 * between. "-" and "" are any. `types` gets it without superfluous spaces. GA_INVALID. */
GA_CHECKED enum ga_status limits_types_read(const char *text, char types[LIMITS_TYPES_MAX],
                                            char *why, size_t why_size);
/* Whether a GPU of the name `type` is in the list; letters may be capital or not. A word of the
 * list is the whole name or a word of it: "H200" is in "NVIDIA H200". */
bool limits_types_allow(const char *types, const char *type);

#endif
