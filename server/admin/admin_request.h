/* SPDX-License-Identifier: Apache-2.0 */
/* A request of an admin: the envelope of a line of JSON, whatever its verb. */
#ifndef SERVER_ADMIN_ADMIN_REQUEST_H
#define SERVER_ADMIN_ADMIN_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct admin_request {
    json_t *document;  /* owns everything here */
    json_t *id;        /* an integer or a short text, for the reply; NULL: none */
    const char *verb;  /* NULL: the line is no request */
    json_t *arguments; /* an object */
    bool dry_run;
};

/* Reads a line of `size` bytes without its newline. GA_INVALID: `why` says what is wrong; the id is
 * set all the same if there is a good one. Call admin_request_fini in any case. */
GA_CHECKED enum ga_status admin_request_read(const char *line, size_t size,
                                             struct admin_request *request, char *why,
                                             size_t why_size);
void admin_request_fini(struct admin_request *request);

#endif
