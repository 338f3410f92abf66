/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures: they show which calls two ends understand in the same way.
 *
 * An op number alone does not say what a call carries: a newer build may know more ops, or another
 * form of one. Each op therefore has a signature, a hash of its wire shape. The client sends all of
 * its own in DATA_HELLO, and the server answers in DATA_WELCOME which of them it does not share.
 * Such a call is error 801 when the program makes it; all others work, whichever end is older. */
#ifndef API_SIGNATURES_H
#define API_SIGNATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API_OPS 2048u /* the limit of op numbers */

/* A signature on the wire. */
struct api_signature {
    uint16_t op;
    uint8_t reply; /* enum api_reply, also where the call is unknown */
    uint8_t bulk;
    uint32_t hash; /* folded from api_call_info.signature */
};

_Static_assert(sizeof(struct api_signature) == 8, "8 bytes on every machine");

/* This build's signatures, sorted by op. */
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
/* Lists the ops of a set in ascending order; `ops` has room for API_OPS. Returns their number. */
size_t api_op_set_list(const struct api_op_set *set, uint16_t *ops);

#endif
