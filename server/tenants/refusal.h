/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons of refusing a program: its error, and how the refusal is counted and audited.
 *
 * Note: every refusal of a program that has greeted goes through control_client_refuse, which wants
 * one of these. Later refusals of a running program (memory) are counted by the lender, and not
 * audited. */
#ifndef SERVER_TENANTS_REFUSAL_H
#define SERVER_TENANTS_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/limits.h"

/* REASON(NAME, "word in metrics and in the audit log") */
#define REFUSAL_REASONS(REASON)                                                                    \
    REASON(CREDENTIAL, "credential") /* which gpuaas_auth_failures_total divides */                \
    REASON(LIMIT, "limit")           /* of its tenant or its user */                               \
    REASON(GPU_TYPES, "gpu_types")   /* its tenant may use none of these */                        \
    REASON(DRAIN, "drain")           /* of the node or the GPU */                                  \
    REASON(AUDIT, "audit")           /* which cannot be written */                                 \
    REASON(TAKEN, "gpu_taken")       /* another tenant has the GPU for itself */                   \
    REASON(FAILED, "gpu_failed")     /* the GPU has */                                             \
    REASON(CLIENTS, "clients")       /* [server] clients */                                        \
    REASON(VERSION, "version")       /* of the protocol */                                         \
    REASON(ENDED, "ended")           /* the operator, or a limit, has ended it */                  \
    REASON(SERVER, "server")         /* has no memory, or no backend process */                    \
    REASON(REQUEST, "request")       /* asks for what there is not */

enum refusal_reason {
#define REASON(name, word) REFUSAL_##name,
    REFUSAL_REASONS(REASON)
#undef REASON
        REFUSAL_COUNT
};
const char *refusal_word(enum refusal_reason reason);

struct refusal {
    enum refusal_reason reason;
    enum limit limit; /* which; of REFUSAL_LIMIT alone */
    int32_t result;   /* CUresult */
    char why[600];    /* one line for its user */
};

/* Sets all of it but the limit. Returns false: what was asked for may not be. */
bool refusal_set(struct refusal *refusal, enum refusal_reason reason, int32_t result,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* As refusal_set, for a limit, whose result is that of all limits. */
bool refusal_limit(struct refusal *refusal, enum limit limit, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
