/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing the signatures of two builds. */
#include "api/signatures.h"

#include <string.h>

#include "api/call_info.h"

static const struct api_signature *signature_find(uint16_t op)
{
    size_t low = 0, high = api_signature_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (api_signatures[middle].op < op) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < api_signature_count && api_signatures[low].op == op ? &api_signatures[low] : NULL;
}

size_t api_signatures_compare(const struct api_signature *theirs, size_t count,
                              struct api_op_set *lacking, struct api_op_set *silent)
{
    size_t differ = 0;
    memset(lacking, 0, sizeof *lacking);
    memset(silent, 0, sizeof *silent);
    for (size_t i = 0; i < count; i++) {
        const struct api_signature *ours = signature_find(theirs[i].op);
        if (ours == NULL || ours->hash != theirs[i].hash) {
            api_op_set_add(lacking, theirs[i].op);
            if (theirs[i].reply == API_REPLY_ASYNC) {
                api_op_set_add(silent, theirs[i].op);
            }
            differ++;
        }
    }
    return differ;
}

size_t api_op_set_list(const struct api_op_set *set, uint16_t *ops)
{
    size_t count = 0;
    for (unsigned op = 0; op < API_OPS; op++) {
        if (api_op_set_has(set, (uint16_t)op)) {
            ops[count++] = (uint16_t)op;
        }
    }
    return count;
}
