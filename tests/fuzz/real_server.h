/* SPDX-License-Identifier: Apache-2.0 */
/* A gpuaasd of this build with two software GPUs, for as long as somebody listens to it. */
#ifndef TESTS_FUZZ_REAL_SERVER_H
#define TESTS_FUZZ_REAL_SERVER_H

#include <sys/types.h>

struct real_server {
    pid_t pid;
    char address[64];
};

struct real_server real_server_start(void);
void real_server_end(struct real_server *server);

#endif
