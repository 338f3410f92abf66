/* SPDX-License-Identifier: Apache-2.0 */
/* Failpoints: named places at which a test makes a process die, stop, wait or fail. They exist in
 * the builds with sanitizers alone; elsewhere GA_FAILPOINT is `false` and nothing of this is
 * compiled.
 *
 * The variable GPUAAS_FAILPOINT names a file with one line, "COUNT ACTION NAME": at the COUNT-th
 * time that a process comes to the failpoint NAME (0: at every time) it does ACTION:
 *   kill  the process kills itself     fail  GA_FAILPOINT is true, its caller takes that as failure
 *   stop  it stops, as by SIGSTOP      delay:MS  it sleeps
 * The file is emptied with that, so that it happens once, in whichever process comes first, and the
 * test sees that it did; and it is removed, unless the process has lost the right to do so. Each
 * process reads the file when it comes to its first failpoint.
 *
 * Besides those in the code, the allocation of memory and the start of a thread are failpoints:
 * "malloc in PROGRAM", "thread in PROGRAM", with the program's name as the log has it. */
#ifndef BASE_FAILPOINT_H
#define BASE_FAILPOINT_H

#include <stdbool.h>

#ifdef GPUAAS_FAILPOINTS
#define GA_FAILPOINT(name) ga_failpoint(name)
/* `name` is "program: event". Keeps errno. */
bool ga_failpoint(const char *name);
#else
#define GA_FAILPOINT(name) false
#endif

#endif
