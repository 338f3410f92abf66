/* SPDX-License-Identifier: Apache-2.0 */
/* Launches by the generated handler, which gate_cost.py counts the instructions of. The rest of the
 * server is what it calls, and does nothing here. `LAUNCH` is the header with the handler. */
#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "api/wire.h"
#include "server/app/app.h"
#include "server/conn/reply.h"
#include "server/gate/gate.h"
#include "server/meter/meter.h"

bool launch(struct server_app *app, const struct wire_header *header, struct ga_reader *reader);

#ifdef LAUNCH

#include LAUNCH
bool launch(struct server_app *app, const struct wire_header *header, struct ga_reader *reader)
{
    return handle_ga_launch(app, header, reader);
}

#else

void ga_launch_args_read(struct ga_reader *r, struct ga_launch_args *to)
{
    (void)r;
    memset(to, 0, sizeof *to);
}

CUresult server_do_ga_launch(struct server_app *app, const struct ga_launch_args *args)
{
    return app != NULL && args != NULL ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

/* Functions that are not called without a policy */

enum ga_status gate_enter(struct server_app *app, enum api_engine engine, uint64_t stream,
                          uint64_t what)
{
    (void)app, (void)engine, (void)stream, (void)what;
    abort();
}

void meter_turn(struct server_app *app, enum api_engine engine, uint64_t stream, uint32_t share)
{
    (void)app, (void)engine, (void)stream, (void)share;
    abort();
}

bool server_answer_async(struct server_app *app, const struct wire_header *header, CUresult rc)
{
    (void)app, (void)header, (void)rc;
    abort();
}

int main(int argc, char **argv)
{
    static struct server_app app; /* no meter, no gate */
    static const struct wire_header header;
    long launches = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    for (long i = 0; i < launches; i++) {
        struct ga_reader reader = ga_reader_of("", 0);
        if (!launch(&app, &header, &reader)) {
            return 1;
        }
    }
    return 0;
}

#endif
