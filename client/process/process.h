/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the process around the library: first use, fork, exit. */
#ifndef CLIENT_PROCESS_PROCESS_H
#define CLIENT_PROCESS_PROCESS_H

#include <stdatomic.h>

#include "api/cuda_names.h"

extern atomic_bool client_dead;    /* the child of a fork: nothing works */
extern atomic_bool client_exiting; /* exit() has begun */
/* Closes this descriptor in the child of a fork. */
void client_process_own(int fd);
CUresult client_process_start(void);

#endif
