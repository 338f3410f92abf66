/* SPDX-License-Identifier: Apache-2.0 */
/* Host calls: functions of the program that a stream calls. They run in the client's process; here
 * the stream waits for a word of pinned memory until the client says that the function has
 * returned.
 *
 *   submit thread: leases a word, and puts an event and a wait for the word into the stream
 *   completion thread: the event is done; tells the client (WIRE_DONE with the id of the call)
 *   main thread: WIRE_HOST_DONE on the side connection; writes the word, whose lease ends
 *
 * A word only grows, and each lease waits for the next number, so a word may be leased again at
 * once, whether or not the driver has seen its last value. */
#ifndef SERVER_PIPELINE_HOST_CALLS_H
#define SERVER_PIPELINE_HOST_CALLS_H

#include <pthread.h>
#include <stdbool.h>

#include "server/charge/ledger.h"
#include "server/driver/driver.h"

#define HOST_BLOCK      1024u /* words that are pinned at once */
#define HOST_BLOCKS_MAX 64u   /* more functions under way, and the submit thread waits */

enum host_state { HOST_FREE, HOST_SUBMITTED, HOST_CALLED };

struct host_lease {
    enum host_state state;
    uint32_t number;   /* what the stream waits for */
    uint32_t next;     /* HOST_FREE: the next free id + 1; 0: none */
    uint64_t sequence; /* of the call */
};

struct host_block {
    uint32_t *words;     /* pinned; written with atomic stores, read by the driver */
    CUdeviceptr address; /* of words[0], on the device */
    CUdevice device;     /* in whose primary context they are pinned */
    struct host_lease leases[HOST_BLOCK];
};

struct host_calls {
    const struct cuda_driver *driver;
    struct ledger *ledger;
    pthread_mutex_t lock;
    pthread_cond_t given_back;
    struct host_block *blocks[HOST_BLOCKS_MAX];
    unsigned block_count;
    uint32_t free;   /* first free id + 1; 0: none */
    uint32_t called; /* leases in that state */
    bool ended;
};

/* The wait of a stream: until the 32 bits at `address` are `number` or more. */
struct host_wait {
    uint32_t id;
    CUdeviceptr address;
    uint32_t number;
};

void host_calls_init(struct host_calls *host, const struct cuda_driver *driver,
                     struct ledger *ledger);
/* Ends all leases, now and from now on: no stream waits any more. Any thread. */
void host_calls_end(struct host_calls *host);
/* Gives the words back, after the end: no stream reads them any more. */
void host_calls_fini(struct host_calls *host);

/* A lease for the call `sequence`, without waiting; CUDA_ERROR_NOT_READY: all are under way.
 * `device`: whose primary context pins memory. Submit thread. */
CUresult host_lease_try(struct host_calls *host, CUdevice device, uint64_t sequence,
                        struct host_wait *wait);
/* Waits until one is free, or until the end. */
void host_lease_wait(struct host_calls *host);
/* Whether the client has been told of a function that has not returned. */
bool host_calls_run(struct host_calls *host);
/* The client is being told that the turn has come. */
void host_lease_called(struct host_calls *host, uint32_t id);
/* The client says that it has returned: the stream goes on. GA_INVALID: it was never called. */
GA_CHECKED enum ga_status host_lease_done(struct host_calls *host, uint32_t id, uint64_t sequence);
/* Drops a lease that the client was not told of. */
void host_lease_drop(struct host_calls *host, uint32_t id);

#endif
