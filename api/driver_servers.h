/* SPDX-License-Identifier: Apache-2.0 */
/* The client library's facts about servers for the command `gpuaas`, which no CUDA call has: a
 * table of cuGetExportTable that other drivers lack. */
#ifndef API_DRIVER_SERVERS_H
#define API_DRIVER_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUDA_DRIVER_SERVERS_UUID                                                                   \
    {                                                                                              \
        0x67, 0x70, 0x75, 0x61, 0x61, 0x73, 0x2d, 0x73, 0x65, 0x72, 0x76, 0x65, 0x72, 0x73, 0x2d,  \
            0x31                                                                                   \
    }

/* A server of GPUAAS_SERVERS. Texts stay valid; "": unknown. */
struct cuda_driver_server {
    const char *address;      /* as given */
    bool usable;              /* it has answered and accepts this program */
    const char *why;          /* the reason why its devices are not listed; "": they are */
    const char *node, *build; /* its name; its gpuaas version */
    int driver_version;       /* of its driver, as from cuDriverGetVersion; 0: unknown */
};

/* The way to a device. */
struct cuda_driver_way {
    unsigned server;       /* the index of its server */
    const char *transport; /* the transport of its data: "shm", "tcp", ...; "": not used yet */
    const char *why;       /* the reason why using it has failed; "": it has not */
};

/* All functions but `quiet` and `observe` may be called after cuInit, whatever it has returned. */
struct cuda_driver_servers {
    size_t bytes; /* of this table: it may grow at its end */
    /* To be called before cuInit: facts of this table are not logged. */
    void (*quiet)(void);
    unsigned (*count)(void);
    /* `index` is less than the count. */
    void (*server)(unsigned index, struct cuda_driver_server *server);
    /* False: there is no such device. */
    bool (*way)(int device, struct cuda_driver_way *way);
    /* To be called before cuInit: servers are told that nobody will use a device. If one is used
     * all the same, its server is greeted once more, as by a program. */
    void (*observe)(void);
};

#endif
