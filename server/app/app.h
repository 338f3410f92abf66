/* SPDX-License-Identifier: Apache-2.0 */
/* An application in a backend process: what its calls work on. It is what is made again on another
 * GPU or in another process, and what shares a process with others; what carries its calls
 * (carrier.h) may come and go.
 *
 * It belongs to the submit thread, with these exceptions: any thread reads what is set when it is
 * made (carrier, driver, host, ledger) and sets `fault`; `output` is guarded by the lock of struct
 * output_redirection, the counts of events by that of struct server_objects. */
#ifndef SERVER_APP_APP_H
#define SERVER_APP_APP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/wire.h"
#include "server/app/host.h"
#include "server/app/kernel_output.h"
#include "server/app/objects.h"
#include "server/app/ranges.h"
#include "server/charge/app_rates.h"
#include "server/charge/ledger.h"
#include "server/driver/driver.h"

struct app_carrier;

/* The call that is being carried out: what its handler may ask besides the arguments. */
struct server_call {
    const struct wire_header *header;
    struct server_session *session;
    size_t values;        /* bytes of values in the frame; bulk stands behind them */
    const uint8_t *bytes; /* the values */
};

/* Kept frames are being carried out again: nobody gets an answer. */
struct server_replay {
    struct server_stream *stream; /* stands for the one they name, which may be gone */
    CUresult rc;                  /* the first error */
};

struct server_app {
    const struct app_carrier *carrier;
    void *carried_by; /* whose functions the carrier's are; NULL: nothing carries it */
    const struct cuda_driver *driver;
    const struct server_host *host;
    struct ledger *ledger; /* the host's */
    struct server_objects objects;
    struct range_table ranges;
    struct range_table reserved; /* the program's reservations, outside of windows */
    struct server_session *sessions[CONF_GPUS_MAX + 1]; /* by number, from 1; NULL: never used */
    struct server_call call;
    struct server_replay *replay; /* NULL: frames come from the client */
    struct server_context *current;
    bool elsewhere;        /* the driver's current context is another, until the next call */
    bool waits_for_values; /* a stream waits, or has, for a value: only a later call may end that */
    bool overflows_not;    /* the driver cannot do what overflow needs */
    bool gated;            /* any session has a gate */
    const struct gate_bell *bell; /* of its gates; NULL: none */
    struct meter meter;
    struct monitor monitor;
    struct app_rates rates;
    struct kernel_output output;
    _Atomic int fault;  /* CUresult of the fault that condemned the process; 0: none. Any thread */
    uint64_t end_by_ns; /* of its end: until when it waits for work; 0: it goes on */
};

#endif
