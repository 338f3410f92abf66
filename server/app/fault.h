/* SPDX-License-Identifier: Apache-2.0 */
/* Execution faults: errors of the driver after which no CUDA call of the process works any more.
 * The program is told once. */
#ifndef SERVER_APP_FAULT_H
#define SERVER_APP_FAULT_H

#include <stdbool.h>

#include "api/cuda_names.h"

struct server_app;

/* Whether the driver's answer condemns the process. */
bool server_is_fault(CUresult rc);
/* Checks a result code of the driver; tells the client of an execution fault, once. Any thread. */
void server_check_fault(struct server_app *app, CUresult rc);
/* A kernel has run for longer than the limit kernel-time, and only the end of the process stops it:
 * the program gets CUDA_ERROR_LAUNCH_FAILED, and the connection ends. Submit thread. */
void server_kernel_over(struct server_app *app);

#endif
