/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls two ends mean the same by.
 *
 * An op number alone does not say what a call carries: a newer build may know more ops, or another
 * form of one. So each op has a signature, a hash of its wire shape; the client tells all of its
 * own in DATA_HELLO, the server answers in DATA_WELCOME which of them it does not share. Such a
 * call is answered 801 when the program makes it; all others work, whichever end is older. */
#ifndef API_SIGNATURES_H
#define API_SIGNATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API_OPS 2048u /* op numbers are smaller */

/* As it travels. */
struct api_signature {
    uint16_t op;
    uint8_t reply; /* enum api_reply: how the call must be answered even by who does not know it */
    uint8_t bulk;
    uint32_t hash; /* folded from api_call_info.signature */
};

_Static_assert(sizeof(struct api_signature) == 8, "8 bytes on every machine");

/* Of this build, sorted by op. */
extern const struct api_signature api_signatures[];
extern const size_t api_signature_count;

struct api_op_set {
    uint64_t bits[API_OPS / 64];
};

static inline bool api_op_set_has(const struct api_op_set *set, uint16_t op)
{
    return op < API_OPS && (set->bits[op / 64] >> op % 64 & 1) != 0;
}

static inline void api_op_set_add(struct api_op_set *set, uint16_t op)
{
    if (op < API_OPS) {
        set->bits[op / 64] |= UINT64_C(1) << op % 64;
    }
}

/* Compares `count` signatures of a peer with those of this build. `lacking` gets the peer's ops
 * that are not known here or have another form, `silent` those among them whose caller waits for
 * no answer. Returns how many are lacking. A peer that tells nothing is taken to lack nothing. */
size_t api_signatures_compare(const struct api_signature *theirs, size_t count,
                              struct api_op_set *lacking, struct api_op_set *silent);
/* The ops of a set in ascending order; `ops` has room for API_OPS. Returns their number. */
size_t api_op_set_list(const struct api_op_set *set, uint16_t *ops);

#endif
