/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the command `gpuaas-sim` besides results: errors, and whether results have been
 * written. */
#ifndef SIM_TELL_H
#define SIM_TELL_H

#include <stdio.h>

#define SIM_WRONG_FILE 1 /* exit statuses */
#define SIM_WRONG_LINE 2

/* Says on standard error what is wrong; gives the status back. */
int sim_tell_wrong(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* To write to; "-" is standard output. NULL: it has been said why not. */
FILE *sim_tell_open(const char *name);
/* Closes it, unless it is standard output. The status, or if not all has got there another. */
int sim_tell_written(FILE *out, const char *name, int status);

#endif
