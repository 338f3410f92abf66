/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/remote_admin.h"

#include "auth/auth.h"
#include "base/thread.h"
#include "server/admin/admin.h"
#include "server/admin/admin_conn.h"
#include "server/admin/admin_verb.h"
#include "store/store.h"
#include "tests/fuzz/input.h"
#include "transport/tcp.h"

#define ADMIN_ID "adminadmin00"

static struct transport_ops proving[REMOTE_ADMIN_COUNT];

/* ---- who connects */

static void proof(struct transport_identity *out, const char *uri)
{
    *out = (struct transport_identity){.proof = TRANSPORT_PROVES_KEY};
    snprintf(out->uri, sizeof out->uri, "%s", uri);
    memset(out->certificate, 7, sizeof out->certificate);
}

static bool prove_valid(const struct transport_conn *conn, struct transport_identity *out)
{
    (void)conn;
    proof(out, "gpuaas://admin/ana/" ADMIN_ID);
    return true;
}

static bool prove_unknown(const struct transport_conn *conn, struct transport_identity *out)
{
    (void)conn;
    proof(out, "gpuaas://admin/ana/nobodynobody");
    return true;
}

static bool prove_tenant(const struct transport_conn *conn, struct transport_identity *out)
{
    (void)conn;
    proof(out, "gpuaas://tenant/default/" ADMIN_ID);
    return true;
}

struct transport_conn remote_admin_conn(int fd, enum remote_admin_who who)
{
    return (struct transport_conn){.ops = &proving[who], .fd = fd};
}

/* ---- gpuaasd: without threads, each input does the same */

enum ga_status __wrap_ga_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
enum ga_status __wrap_ga_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    (void)thread, (void)run, (void)argument;
    return GA_NO_MEMORY; /* the loop does the work of the threads that it does not get */
}

enum admin_way __wrap_admin_answer_way(struct gpuaasd *gpuaasd, const char *line, size_t size,
                                       bool keep, struct admin_list **list);
enum admin_way __wrap_admin_answer_way(struct gpuaasd *gpuaasd, const char *line, size_t size,
                                       bool keep, struct admin_list **list)
{
    (void)gpuaasd, (void)line, (void)size, (void)keep, (void)list;
    return ADMIN_AT_ONCE;
}

char *__wrap_admin_answer(struct gpuaasd *gpuaasd, const struct admin_peer *peer, const char *line,
                          size_t size, struct admin_list **list);
char *__wrap_admin_answer(struct gpuaasd *gpuaasd, const struct admin_peer *peer, const char *line,
                          size_t size, struct admin_list **list)
{
    (void)gpuaasd, (void)list;
    FUZZ_CHECK(strcmp(peer->name, "admin:ana") == 0 && strcmp(peer->credential, ADMIN_ID) == 0);
    FUZZ_CHECK(size < ADMIN_REQUEST_MAX && memchr(line, '\n', size) == NULL);
    return strdup("{}");
}

void remote_admin_init(struct gpuaasd *gpuaasd)
{
    static struct admin admin = {.fd = -1};
    struct store_credential certificate = {.id = ADMIN_ID,
                                           .kind = STORE_CERTIFICATE,
                                           .scope = STORE_OF_ADMIN,
                                           .name = "ana",
                                           .expires = INT64_MAX};
    char why[600];
    for (unsigned i = 0; i < REMOTE_ADMIN_COUNT; i++) {
        proving[i] = transport_tcp;
    }
    proving[REMOTE_ADMIN_VALID].identify = prove_valid;
    proving[REMOTE_ADMIN_UNKNOWN].identify = prove_unknown;
    proving[REMOTE_ADMIN_TENANT].identify = prove_tenant;
    memset(certificate.hash, 7, sizeof certificate.hash);
    FUZZ_CHECK(store_open(":memory:", &gpuaasd->storage.store, why, sizeof why) == GA_OK);
    FUZZ_CHECK(store_credential_put(gpuaasd->storage.store, &certificate) == GA_OK);
    ga_list_init(&admin.conns);
    admin.gpuaasd = gpuaasd;
    gpuaasd->admin = &admin;
}

void remote_admin_begin(struct gpuaasd *gpuaasd)
{
    FUZZ_CHECK(auth_open(gpuaasd->storage.store, &gpuaasd->access.auth) == GA_OK);
    uv_ref((uv_handle_t *)&gpuaasd->clients.steps); /* the loop turns although nobody listens */
}

void remote_admin_end(struct gpuaasd *gpuaasd)
{
    while (gpuaasd->clients.workers.out != 0) { /* a step of one who has gone */
        (void)uv_run(&gpuaasd->loop, UV_RUN_NOWAIT);
    }
    uv_unref((uv_handle_t *)&gpuaasd->clients.steps);
    admin_conn_close_all(gpuaasd->admin);
    FUZZ_CHECK(gpuaasd->admin->local_count + gpuaasd->admin->remote_count == 0);
    auth_close(gpuaasd->access.auth);
}
