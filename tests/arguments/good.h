/* SPDX-License-Identifier: Apache-2.0 */
/* The right arguments, and objects that make wrong ones. good_* is always the same object, made by
 * good_make; new_* is a new one, because the call consumes it.
 *
 * Note: objects of `other context` are valid, and wrong for calls that use the current context. */
#ifndef TESTS_ARGUMENTS_GOOD_H
#define TESTS_ARGUMENTS_GOOD_H

#include <stdint.h>

#define GOOD(name)   uint64_t good_##name(void);
#define STRUCT(name) uint64_t good_##name(void);
#define NEW(name)    uint64_t new_##name(void);
#include "tests/arguments/good.def"
#undef GOOD
#undef STRUCT
#undef NEW

/* After cuInit: everything, and the context made current. `ptx_file` will name a file that holds
 * PTX, `this_file` one that holds none. Ends the program when the driver refuses a right call. */
void good_make(const char *this_file);
/* A whole program after all that went wrong: fills, runs a kernel, copies, compares. */
void good_program(void);

/* Ends what new_capturing and new_idle_stream have begun. */
void good_capture_end(void);
/* Waits for what has been begun in the other context. */
void good_other_wait(void);

/* A kernel writes where no memory is: condemns the process. */
void good_fault(void);
/* Removes the file. */
void good_end(void);

/* An array of one dimension; a texture of an array, seen as `view` (CUDA_RESOURCE_VIEW_DESC). */
uint64_t good_line_make(void);
uint64_t good_texture_make(uint64_t array, const void *view);

/* All of device 0, as resources of a green context; a callback of the log. */
uint64_t good_resources_make(void);
uint64_t good_log_callback_make(void);
/* An event of the primary context of device 0. */
uint64_t good_green_event_make(void);

/* Ends the program unless `result` is CUDA_SUCCESS. */
void must(int result, const char *call);
#define MUST(call) must((int)(call), #call)

#endif
