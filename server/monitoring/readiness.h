/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions for serving programs as they should be: one list, which /readyz, the metric
 * gpuaas_condition and the verb health tell. */
#ifndef SERVER_MONITORING_READINESS_H
#define SERVER_MONITORING_READINESS_H

#include <stdbool.h>

struct monitoring;

struct condition {
    const char *name; /* "store" */
    bool holds;
    char why[700]; /* it does not, and what to do */
};

/* Tells `each` all conditions that concern this node, in a fixed order; returns whether all hold.
 * `each` may be NULL. */
bool readiness_look(const struct monitoring *monitoring,
                    void (*each)(void *user, const struct condition *condition), void *user);

#endif
