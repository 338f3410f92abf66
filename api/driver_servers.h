/* SPDX-License-Identifier: Apache-2.0 */
/* What our client library tells the command `gpuaas` about its servers, as no call of CUDA does: a
 * table of cuGetExportTable, which other drivers do not have. */
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

/* One of those that GPUAAS_SERVERS names. Texts stay valid; what is not known is "". */
struct cuda_driver_server {
    const char *address;      /* as it was given */
    bool usable;              /* it has answered, and takes this program */
    const char *why;          /* none of its devices are listed; "": they are */
    const char *node, *build; /* its name; its gpuaas version */
    int driver_version;       /* of its driver, as cuDriverGetVersion; 0: not known */
};

/* How a device is reached. */
struct cuda_driver_way {
    unsigned server;       /* its place among them */
    const char *transport; /* of its data: "shm", "tcp", ...; "": it has not been used */
    const char *why;       /* using it has failed; "": it has not */
};

/* All but the first two may be called when cuInit has been, whatever it has answered. */
struct cuda_driver_servers {
    size_t bytes; /* of this table: it may grow at its end */
    /* What this table tells is not logged besides; before cuInit. */
    void (*quiet)(void);
    unsigned (*count)(void);
    /* `index` is below the count. */
    void (*server)(unsigned index, struct cuda_driver_server *server);
    /* False: there is no such device. */
    bool (*way)(int device, struct cuda_driver_way *way);
};

#endif
