/* SPDX-License-Identifier: Apache-2.0 */
/* The records of how objects of a backend process were made suffice to make their like. */
#ifndef TESTS_FUZZ_MADE_FROM_H
#define TESTS_FUZZ_MADE_FROM_H

#include "server/app/app.h"

/* Nothing runs. Makes the like of each object of the connection, compares and ends it. */
void fuzz_made_from_check(struct server_app *app, const struct cuda_driver *driver);

#endif
