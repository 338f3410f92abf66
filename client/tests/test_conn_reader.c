/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's role when two threads meet at its edge. A test that hangs ends by its time limit. */
#include "client/tests/peer.h"

#ifdef GPUAAS_FAILPOINTS

static char file[] = "/tmp/gpuaas-failpoint-XXXXXX";

static void disarm(void)
{
    unlink(file);
}

struct asker {
    struct client_conn *conn;
    struct pending_reply *record;
};

static void *finish_with_zero(void *at)
{
    struct asker *asker = at;
    cr_assert_eq(finish(asker->conn, asker->record, NULL), 0);
    return NULL;
}

static void *answer_one(void *at)
{
    struct wire_header header;
    uint8_t content[256];
    cr_assert(peer_call(at, &header, content));
    cr_assert(peer_reply(at, WIRE_REPLY, header.sequence, 0, 0));
    return NULL;
}

/* The reader has seen that nobody waits, and stands still before the role is free. The next thread
 * finds it taken and sleeps: the one that leaves must look again, for nobody else would wake the
 * sleeper. */
Test(conn, who_comes_while_the_reader_leaves_is_woken, .fini = disarm, .timeout = 60)
{
    int fd = mkstemp(file);
    cr_assert(fd >= 0 && dprintf(fd, "1 delay:700 client: before the reader leaves\n") > 0);
    close(fd);
    setenv("GPUAAS_FAILPOINT", file, 1);
    struct peer peer = peer_connect();
    pthread_t leaver, answerer;
    struct asker first = {.conn = peer.conn, .record = call_with(peer.conn, 0, true, NULL)};
    pthread_create(&leaver, NULL, finish_with_zero, &first);
    (void)answer_one(&peer);
    while (access(file, F_OK) == 0) {
        usleep(1000);
    }
    struct asker second = {.conn = peer.conn, .record = call_with(peer.conn, 1, true, NULL)};
    pthread_create(&answerer, NULL, answer_one, &peer);
    (void)finish_with_zero(&second);
    pthread_join(leaver, NULL);
    pthread_join(answerer, NULL);
    close(peer.fd);
}

#endif
