/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of a backend process: found, opened, initialised, asked for facts. */
#ifndef SERVER_DRIVER_DRIVER_H
#define SERVER_DRIVER_DRIVER_H

#include "api/cuda_driver.h"
#include "server/channel.h"

/* The granularity of a device whose driver cannot map memory at given addresses. */
#define DRIVER_UNMAPPED_BYTES (2u << 20)

/* Opens and initialises the driver that SETUP names. GA_INVALID with `why`, which names the
 * library and says what to do. */
GA_CHECKED enum ga_status driver_open(const struct channel_setup *setup, struct cuda_driver *driver,
                                      char *why, size_t why_size);

/* All facts about one device. GA_INVALID with `why`. Makes its primary context for a moment. */
GA_CHECKED enum ga_status driver_facts(const struct cuda_driver *driver, uint32_t ordinal,
                                       struct channel_facts *facts, char *why, size_t why_size);

/* Uses the device as a new program would: a context, some memory, which is set and read. `reason`:
 * what fails, "" if nothing does. That others have all of its memory is no failure. */
void driver_check(const struct cuda_driver *driver, uint32_t ordinal, char *reason,
                  size_t reason_size);

/* The driver's answer to whose output a thread is writing (api/driver_open.h); NULL: it tells
 * nothing. */
void *(*driver_output_context(const struct cuda_driver *driver))(void);

/* How the driver makes objects again with the values that they had (api/driver_places.h); NULL: it
 * cannot. */
const struct cuda_driver_places *driver_places(const struct cuda_driver *driver);

/* The table of driver_places, if the driver counts its own use of a GPU (module_layout, heap_read);
 * NULL: that has to be estimated. */
const struct cuda_driver_places *driver_counts(const struct cuda_driver *driver);

/* Name of a result code, or its number. */
const char *driver_result_name(const struct cuda_driver *driver, CUresult rc, char room[16]);

/* How to limit the run time of a context's kernels (api/driver_open.h); NULL: this driver cannot.
 */
typedef int driver_limit_call(void *context, unsigned long long ms);
driver_limit_call *driver_kernel_limit(const struct cuda_driver *driver);

/* The table with which events are shared by descriptors (event_export, event_import); NULL: they
 * are shared by handles, as CUDA has it. */
const struct cuda_driver_traits *driver_event_files(const struct cuda_driver *driver);

#endif
