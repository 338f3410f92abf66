/* SPDX-License-Identifier: Apache-2.0 */
/* `top`: what the node does now, from two looks at it. */
#ifndef CTL_TOP_H
#define CTL_TOP_H

#include "ctl/ctl.h"

enum top_order { TOP_BY_BUSY, TOP_BY_MEMORY, TOP_BY_TENANT, TOP_BY_AGE };

struct top {
    const struct ctl_line *line;
    enum top_order order;
    uint64_t taken_ns; /* when `frame` was */
    json_t *before;    /* the sessions of the look before, by id; NULL: there was none */
    json_t *frame;     /* the document of --json: health, gpus, tenants, sessions */
};

/* Looks; an error is for people. */
enum admin_code ctl_top_look(struct top *top, char *why, size_t why_size);
void ctl_top_fini(struct top *top);
/* The frame as lines of text for people. */
void ctl_top_write(const struct top *top, FILE *out);

#endif
