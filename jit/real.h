/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's own library, whose place we take. Its name is ours in this process, so it is opened by
 * its path in the first folder that has it. */
#ifndef JIT_REAL_H
#define JIT_REAL_H

#define JIT_EXPORT __attribute__((visibility("default")))

/* Opens lib<stem>.so.<major> once, and reports on stderr if no folder has it. NULL: there is
 * none. */
void *jit_real_open(const char *stem);
/* The function; NULL: there is no such library, or no such name in it. */
void *jit_real_find(const char *stem, const char *name);

#endif
