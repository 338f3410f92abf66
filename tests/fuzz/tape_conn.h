/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of a tape's transports (tape_conn.c). All of it is under one lock. */
#ifndef TESTS_FUZZ_TAPE_CONN_H
#define TESTS_FUZZ_TAPE_CONN_H

#include <pthread.h>

#include "tests/fuzz/tape_store.h"
#include "transport/transport.h"

#define TAPE_CONNS_MAX 256u

/* Whole frames out of a stream. */
struct tape_splitter {
    struct mutation_bytes bytes;
    size_t done;
};

struct tape_conn {
    struct transport_conn inner; /* when recording */
    enum tape_kind kind;
    unsigned number;
    unsigned bulk; /* number of a bulk connection */
    struct tape_splitter asked, said;
    struct mutation_bytes out; /* played: what the client has not taken yet */
    size_t taken;
    int fd;
    bool ended; /* behind `out` nothing comes */
    bool greeted;
};

extern pthread_mutex_t tape_lock;
extern struct tape_conn *tape_conns[TAPE_CONNS_MAX];
extern unsigned tape_conn_count;

struct tape_conn *tape_conn_new(void);
static inline struct tape_conn *tape_conn_of(const struct transport_conn *conn)
{
    return conn->state;
}
/* The next frame that is whole: its values; NULL: none. */
const uint8_t *tape_split(struct tape_splitter *splitter, struct wire_header *header);
/* The first frame tells what a connection is for. */
void tape_learn(struct tape_conn *conn, const struct wire_header *header, const uint8_t *values);

/* tape_record.c: the transport that listens to the real one below it */
extern const struct transport_ops tape_record_ops;
extern struct tape *tape_recorded;
/* tape_play.c: the one without anything below */
extern const struct transport_ops tape_play_ops;

#endif
