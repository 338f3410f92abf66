/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/penalty.h"

#include <string.h>
#include <sys/random.h>

#define PENALTY_MS_NS UINT64_C(1000000)

bool penalty_init(struct penalties *penalties)
{
    memset(penalties, 0, sizeof *penalties);
    return getrandom(&penalties->seed, sizeof penalties->seed, 0) ==
           (ssize_t)sizeof penalties->seed;
}

void penalty_key(const uint8_t source[AUTH_SOURCE_BYTES], const char *id,
                 uint8_t key[PENALTY_KEY_BYTES])
{
    memset(key, 0, PENALTY_KEY_BYTES);
    memcpy(key, source, AUTH_SOURCE_BYTES);
    memcpy(key + AUTH_SOURCE_BYTES, id, strnlen(id, STORE_ID_MAX));
}

static unsigned set_of(const struct penalties *penalties, const uint8_t *key)
{
    uint64_t words[PENALTY_KEY_BYTES / 8], mixed = penalties->seed;
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) { /* as SplitMix64 mixes */
        mixed = (mixed ^ words[i]) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
        mixed ^= mixed >> 31;
    }
    return (unsigned)(mixed % PENALTY_SETS);
}

/* NULL: the key has none. */
static struct penalty *find(const struct penalties *penalties, const uint8_t *key)
{
    const struct penalty *set = penalties->all[set_of(penalties, key)];
    for (unsigned i = 0; i < PENALTY_WAYS; i++) {
        if (set[i].until_ns != 0 && memcmp(set[i].key, key, PENALTY_KEY_BYTES) == 0) {
            return (struct penalty *)&set[i];
        }
    }
    return NULL;
}

uint64_t penalty_left_ms(const struct penalties *penalties, const uint8_t key[PENALTY_KEY_BYTES],
                         uint64_t now_ns)
{
    const struct penalty *found = find(penalties, key);
    return found == NULL || found->until_ns <= now_ns
               ? 0
               : (found->until_ns - now_ns + PENALTY_MS_NS - 1) / PENALTY_MS_NS;
}

/* The place of a key that has none. */
static struct penalty *take(struct penalties *penalties, const uint8_t *key)
{
    struct penalty *set = penalties->all[set_of(penalties, key)], *first = set;
    for (unsigned i = 1; i < PENALTY_WAYS; i++) {
        first = set[i].until_ns < first->until_ns ? &set[i] : first;
    }
    memcpy(first->key, key, PENALTY_KEY_BYTES);
    first->until_ns = 0;
    first->failures = 0;
    return first;
}

uint64_t penalty_add(struct penalties *penalties, const uint8_t key[PENALTY_KEY_BYTES],
                     uint64_t now_ns)
{
    struct penalty *penalty = find(penalties, key);
    if (penalty == NULL) {
        penalty = take(penalties, key);
    }
    if (now_ns > penalty->until_ns + PENALTY_QUIET_MS * PENALTY_MS_NS) {
        penalty->failures = 0;
    }
    uint64_t wait = PENALTY_FIRST_MS;
    for (unsigned i = 0; i < penalty->failures && wait < PENALTY_LAST_MS; i++) {
        wait *= 2;
    }
    penalty->failures += penalty->failures < 32;
    penalty->until_ns = now_ns + wait * PENALTY_MS_NS;
    return wait;
}

void penalty_forget(struct penalties *penalties, const uint8_t key[PENALTY_KEY_BYTES])
{
    struct penalty *found = find(penalties, key);
    if (found != NULL) {
        memset(found, 0, sizeof *found);
    }
}
