/* SPDX-License-Identifier: Apache-2.0 */
/* The process around the library: how far its life is, and what it owns. */
#ifndef CLIENT_PROCESS_PROCESS_H
#define CLIENT_PROCESS_PROCESS_H

#include <stdatomic.h>

extern atomic_bool client_dead;    /* the child of a fork: nothing works */
extern atomic_bool client_exiting; /* exit() has begun */
/* Closes this descriptor in the child of a fork. */
void client_process_own(int fd);
/* No more: it is about to be closed, and its number may become another's. */
void client_process_disown(int fd);
/* Before anything else, once: reads the environment. */
void client_process_begin(void);

#endif
