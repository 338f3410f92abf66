/* SPDX-License-Identifier: Apache-2.0 */
/* A client by script: says frame by frame what a test wants said, to a real gpuaasd with software
 * GPUs that the test has started. Everything fails the test by itself after 20 s. */
#ifndef SERVER_TESTS_SCRIPT_H
#define SERVER_TESTS_SCRIPT_H

#include <stdbool.h>
#include <sys/types.h>

#include "api/calls.h"
#include "api/constants.h"
#include "api/handshake.h"
#include "api/wire.h"
#include "transport/transport.h"

#define SCRIPT_WINDOW_BYTES (UINT64_C(1) << 30)
#if defined(__SANITIZE_THREAD__)
#define SCRIPT_WINDOW (UINT64_C(64) << 30) /* the sanitizer keeps the rest for itself */
#else
#define SCRIPT_WINDOW UINT64_C(0x200000000000)
#endif

/* ---- gpuaasd */

struct script_server {
    pid_t pid;
    int log; /* its stderr */
    char url[128];
    char text[1u << 20]; /* what it has said so far */
    char config[64];
    char certificate[80], key[80]; /* files; "": none */
};

/* Starts it with two GPUs, and no spare processes unless said otherwise; `more` are further lines
 * for [server], or "". */
void script_server_start(struct script_server *server, const char *more);
/* As script_server_start, with so much memory of the first GPU, instead of 256MiB. */
void script_server_start_with(struct script_server *server, const char *more, const char *memory);
/* SIGTERM; it must exit with 0 and without a complaint of a sanitizer. */
void script_server_stop(struct script_server *server);
/* Waits until its log says `part`. */
void script_server_says(struct script_server *server, const char *part);
/* Reads what it has said meanwhile; somebody must, or it stands still in the end. */
void script_server_drain(struct script_server *server);
/* Its children now. */
unsigned script_server_backends(const struct script_server *server, pid_t *pids, unsigned most);
/* Waits until it has so many. */
void script_server_wait_backends(const struct script_server *server, unsigned count);
/* Soon after the start it may have some more for the process that looks for GPUs. */
unsigned script_server_descriptors(const struct script_server *server);

/* ---- one connection */

struct script_conn {
    struct transport_conn conn;
    struct frame_reader reader;
    struct wire_header header;        /* of the frame received last */
    struct ga_reader values;          /* of the frame received last */
    _Alignas(16) uint8_t frame[8192]; /* under construction */
    struct ga_writer writer;
};

/* With TLS: the other end is gpuaasd, which has the certificate script_ca. */
void script_connect(struct script_conn *conn, const char *url);
void script_close(struct script_conn *conn);
/* Begins a frame; write values to conn->writer, then send. */
struct ga_writer *script_begin(struct script_conn *conn);
void script_send(struct script_conn *conn, uint16_t opcode, uint16_t session, uint64_t sequence);
/* As script_send, with bulk bytes behind the values. */
void script_send_bulk(struct script_conn *conn, uint16_t opcode, uint16_t session,
                      uint64_t sequence, const void *bulk, size_t bytes);
void script_send_raw(struct script_conn *conn, const void *bytes, size_t size);
/* Receives a frame: its opcode. 0: the connection has ended. */
uint16_t script_receive(struct script_conn *conn);
/* Receives a frame that must have this opcode. */
void script_expect(struct script_conn *conn, uint16_t opcode);
/* The other end must close without saying anything more. */
void script_expect_end(struct script_conn *conn);

/* ---- an application */

struct script_app {
    struct script_conn control, data, side;
    uint8_t application[16];
    struct handshake_ticket ticket; /* the last one */
    char address[128];
    uint64_t window; /* base of session 1's */
    uint64_t sequence;
    uint64_t context;
};

/* HANDSHAKE_TAKES_* of the applications that start from now on; at first none. */
extern uint32_t script_takes;

/* Applications that start from now on reach their backend process through shared memory. */
extern bool script_shm;
/* Servers listen with TLS; the file of the last one's certificate, NULL: there is none. */
extern bool script_tls;
extern const char *script_ca;
/* Scripts connect by RDMA, and servers listen at this address, which a network card has. NULL:
 * neither. */
extern const char *script_rdma;

/* The token of applications that start; NULL: none. */
extern const char *script_token;
void script_hello(struct script_app *app, const char *url);
/* HELLO and one OPEN. */
void script_open(struct script_app *app, uint32_t device);
/* Connects to the backend process that the ticket is for; wide, if a data connection would be. */
void script_connect_backend(struct script_app *app, struct script_conn *conn, bool data);
void script_data_hello_fill(const struct script_app *app, struct handshake_data_hello *hello,
                            uint32_t kind, uint32_t device, uint64_t window);
/* All the way to a session on `device` with a primary context that is current. */
void script_app_start(struct script_app *app, const char *url, uint32_t device);
/* As script_app_start, as a client that knows these calls. Answers how many of them the server
 * lacks. */
uint32_t script_app_start_as(struct script_app *app, const char *url, uint32_t device,
                             const struct api_signature *signatures, uint32_t count);
void script_app_close(struct script_app *app);

/* A waiting call without results: its code. Other frames than the reply fail the test, except
 * WIRE_ERROR and WIRE_FAULT, which are skipped. */
int32_t script_wait(struct script_app *app, uint64_t sequence);
/* ga_* calls on session 1. */
int32_t script_map(struct script_app *app, uint64_t address, uint64_t bytes);
int32_t script_unmap(struct script_app *app, uint64_t address, uint64_t bytes, bool wait);
void script_copy_in(struct script_app *app, uint64_t dst, const void *from, size_t bytes,
                    uint64_t stream);
/* The code of the copy; `to` gets the bytes. */
int32_t script_copy_out(struct script_app *app, uint64_t src, void *to, size_t bytes,
                        uint64_t stream);
int32_t script_stream_synchronize(struct script_app *app, uint64_t stream);
uint64_t script_stream(struct script_app *app, uint32_t index);
int32_t script_module(struct script_app *app, uint64_t module, const char *image);
int32_t script_function(struct script_app *app, uint64_t module, const char *name,
                        uint64_t function);
void script_launch(struct script_app *app, uint64_t function, uint32_t blocks, uint32_t threads,
                   uint64_t stream, const void *params, uint32_t param_bytes);
/* Memory that others may open, and opening it at this address. */
struct script_shared {
    uint64_t key[API_KEY_WORDS];
    uint64_t bytes, offset, mapping_bytes;
};
int32_t script_share(struct script_app *app, uint64_t address, uint64_t bytes,
                     struct script_shared *shared);
int32_t script_open_shared(struct script_app *app, const struct script_shared *shared,
                           uint64_t address);
void script_context(struct script_app *app, uint64_t context);

#endif
