/* SPDX-License-Identifier: Apache-2.0 */
/* Penalties: how long a source that has failed counts as a failing one: 1 s, 2 s, 4 s up to 64 s,
 * the longer the more often it fails. A success, or five quiet minutes, clears all of it. A penalty
 * keeps nobody out: the secret is looked at in any case.
 *
 * Note: the table never grows. Each key has one of four places; if all four are taken, the key
 * takes the one whose penalty ends first. */
#ifndef AUTH_PENALTY_H
#define AUTH_PENALTY_H

#include "auth/auth.h"

#define PENALTY_FIRST_MS 1000u
#define PENALTY_LAST_MS  64000u
#define PENALTY_QUIET_MS 300000u

#define PENALTY_SETS 1024u
#define PENALTY_WAYS 4u

/* A source, or a source and the id of the credential that it has shown. */
#define PENALTY_KEY_BYTES (AUTH_SOURCE_BYTES + STORE_ID_MAX)

struct penalty {
    uint8_t key[PENALTY_KEY_BYTES];
    uint64_t until_ns; /* 0: the place is free */
    uint32_t failures;
};

struct penalties {
    uint64_t seed; /* random: nobody can aim at a neighbour's places */
    struct penalty all[PENALTY_SETS][PENALTY_WAYS];
};

/* False: the machine has no random numbers. */
bool penalty_init(struct penalties *penalties);
/* `id` "": of the source alone. */
void penalty_key(const uint8_t source[AUTH_SOURCE_BYTES], const char *id,
                 uint8_t key[PENALTY_KEY_BYTES]);
/* The rest of a penalty in ms, at least 1; 0: none. */
uint64_t penalty_left_ms(const struct penalties *penalties, const uint8_t key[PENALTY_KEY_BYTES],
                         uint64_t now_ns);
/* Notes a failure; returns the penalty in ms. */
uint64_t penalty_add(struct penalties *penalties, const uint8_t key[PENALTY_KEY_BYTES],
                     uint64_t now_ns);
void penalty_forget(struct penalties *penalties, const uint8_t key[PENALTY_KEY_BYTES]);

#endif
