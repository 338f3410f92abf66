/* SPDX-License-Identifier: Apache-2.0 */
/* Where NVIDIA's own library is that we stand in for. Its name is ours in this process, so it is
 * opened by its path: of the folders where programs have it, the first that has it. */
#ifndef JIT_REAL_H
#define JIT_REAL_H

#define JIT_EXPORT __attribute__((visibility("default")))

/* Opens lib<stem>.so.<major> once, and says on stderr if it is nowhere. NULL: there is none. */
void *jit_real_open(const char *stem);
/* The function, or NULL: no such library, or none of that name in it. */
void *jit_real_find(const char *stem, const char *name);

#endif
