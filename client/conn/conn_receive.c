/* SPDX-License-Identifier: Apache-2.0 */
/* The receiving half of a connection: the reader role, and waiting (leader and followers).
 * conn_answer.c processes the answers.
 *
 * Only the leader, which has the role, reads, and only the leader completes records. Therefore no
 * thread writes into the memory of a call that has already returned, not even when the connection
 * is lost meanwhile. */
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "client/conn/conn_internal.h"
#include "client/process/trace.h"
#include "front/front.h"

#define PASSING_BYTES (8u << 20)

enum waiter_word { WAITER_SLEEPS = 0, WAITER_COMPLETE = 1, WAITER_READS = 2 };

struct conn_waiter {
    struct ga_list at;
    struct pending_reply *record;
    atomic_uint word;
};

static void waiter_wake(struct conn_waiter *waiter, enum waiter_word word)
{
    atomic_store(&waiter->word, word);
    syscall(SYS_futex, &waiter->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static bool role_take(struct client_conn *conn)
{
    return !atomic_load(&conn->reading) && !atomic_exchange(&conn->reading, true);
}

void conn_complete(struct client_conn *conn, struct pending_reply *record, uint16_t opcode,
                   int result)
{
    conn_table_remove(conn, record); /* from here on no thread can begin to wait for it */
    record->opcode = opcode;
    record->result = result;
    if (record->want.lease != NULL) {
        atomic_store(record->want.lease, 0);
    }
    if (record->waited) {
        client_conn_raise(&conn->answered, record->sequence);
    } else {
        atomic_fetch_sub(&conn->unwaited, 1);
    }
    if (record->want.host != NULL) {
        atomic_fetch_sub(&conn->host_calls, 1);
        if (opcode == 0) {
            conn->hooks->host_lost(record->want.host, result);
        }
    }
    if (atomic_load_explicit(&record->references, memory_order_relaxed) == 0) {
        conn_table_free(conn, record);
        return;
    }
    ga_list_each (at, following, &conn->waiters) {
        struct conn_waiter *waiter = ga_container(at, struct conn_waiter, at);
        if (waiter->record == record) {
            ga_list_remove(at);
            waiter_wake(waiter, WAITER_COMPLETE);
        }
    }
    atomic_store_explicit(&record->done, true, memory_order_release);
}

/* With the role and read_lock. */
static void complete_all(struct client_conn *conn)
{
    int dead = atomic_load(&conn->facts.dead);
    conn->bulk = NULL;
    for (unsigned i = 0; i < CONN_BUCKETS; i++) {
        while (conn->buckets[i] != NULL) {
            conn_complete(conn, conn->buckets[i], 0, dead);
        }
    }
}

/* Passes the role to a follower whose call is not complete, or makes it free. */
static void hand_over(struct client_conn *conn)
{
    pthread_mutex_lock(&conn->read_lock);
    if (atomic_load(&conn->facts.dead) != 0) {
        complete_all(conn);
    }
    if (ga_list_empty(&conn->waiters)) {
        atomic_store(&conn->reading, false);
    } else {
        struct ga_list *first = conn->waiters.next;
        ga_list_remove(first);
        waiter_wake(ga_container(first, struct conn_waiter, at), WAITER_READS);
    }
    pthread_mutex_unlock(&conn->read_lock);
}

static bool receive_wanted(struct client_conn *conn)
{
    return atomic_load(&conn->facts.dead) != 0 || atomic_load(&conn->waiting) != 0;
}

/* Gives the role up. A thread that waits, or ends the connection, first sets `waiting` or `dead`
 * and then tries to take the role; the leader first frees the role and then reads these. At least
 * one of the two sees the other. (A thread that takes the role in between does the same when it
 * leaves.) */
static void receive_leave(struct client_conn *conn)
{
    if (!receive_wanted(conn)) {
        (void)GA_FAILPOINT("client: before the reader leaves");
        atomic_store(&conn->reading, false);
        if (!receive_wanted(conn) || !role_take(conn)) {
            return;
        }
    }
    hand_over(conn);
}

/* ---- reading; with the role */

/* Reads until `record` is complete (GA_OK) or no more bytes are there (GA_AGAIN). With record NULL
 * it reads in passing, and no more than PASSING_BYTES: the caller has other things to do. */
static enum ga_status receive_all(struct client_conn *conn, const struct pending_reply *record)
{
    uint64_t enough = atomic_load(&conn->bytes_in) + PASSING_BYTES;
    for (;;) {
        if (atomic_load(&conn->facts.dead) != 0) {
            pthread_mutex_lock(&conn->read_lock);
            complete_all(conn);
            pthread_mutex_unlock(&conn->read_lock);
            return GA_LOST;
        }
        if (record == NULL && atomic_load(&conn->bytes_in) >= enough) {
            return GA_AGAIN;
        }
        enum ga_status status = conn_answer_take(conn);
        if (status == GA_OK) {
            continue;
        }
        if (status == GA_AGAIN) {
            if (record != NULL && atomic_load(&record->done)) {
                return GA_OK;
            }
            if (conn->bulk != NULL) {
                return GA_AGAIN;
            }
            status = frame_fill(&conn->reader, &conn->data);
            if (status == GA_OK) {
                continue;
            }
            if (status == GA_AGAIN) {
                return status;
            }
        }
        const char *error_text = transport_error_text(&conn->data);
        client_conn_lose(conn, status != GA_LOST    ? "it sent bytes that are no answer"
                               : error_text != NULL ? error_text
                                                    : "the connection ended");
    }
}

static void note_read(struct client_conn *conn)
{
    if (atomic_load_explicit(&conn->unwaited, memory_order_relaxed) != 0) {
        atomic_store_explicit(&conn->read_ns, ga_clock_ns(), memory_order_relaxed);
    }
}

/* Reads, and polls for some time before it gives up. True: the record is complete, or the
 * connection lost. Reading the clock takes longer than many answers, so the first polls do without
 * it. */
static bool read_spinning(struct client_conn *conn, const struct pending_reply *record)
{
    uint64_t spin_ns = ga_spin_begin(&conn->spin), until = 0;
    unsigned looks = 0;
    enum ga_status status;
    while ((status = receive_all(conn, record)) == GA_AGAIN && spin_ns != 0) {
        if (++looks % GA_SPIN_LOOKS == 0) {
            uint64_t now = ga_clock_ns();
            until = until != 0 ? until : now + spin_ns;
            if (now >= until) {
                break;
            }
        }
        ga_spin_look();
    }
    if (spin_ns != 0) {
        ga_spin_end(&conn->spin, status != GA_AGAIN);
    }
    return status != GA_AGAIN;
}

/* Reads as the leader until the record is complete. */
static void lead(struct client_conn *conn, const struct pending_reply *record)
{
    if (!atomic_load(&record->done)) {
        (void)read_spinning(conn, record);
    }
    while (!atomic_load(&record->done)) {
        if (receive_all(conn, record) == GA_AGAIN) {
            struct pollfd at[TRANSPORT_POLL_MAX];
            struct transport_conn *from = conn_awaited(conn);
            unsigned count = from->ops->poll_prepare(from, POLLIN, at);
            if (count != 0) {
                (void)poll(at, count, -1);
            }
        }
    }
    note_read(conn);
}

void client_conn_read(struct client_conn *conn)
{
    if (role_take(conn)) {
        (void)receive_all(conn, NULL);
        note_read(conn);
        receive_leave(conn);
    }
}

bool conn_read_free(struct client_conn *conn)
{
    return !atomic_load(&conn->reading);
}

void client_conn_drain(struct client_conn *conn)
{
    client_conn_flush(conn);
    client_conn_read(conn);
}

/* ---- waiting */

/* Sleeps until the record is complete (false) or the role is ours (true). */
static bool wait_turn(struct client_conn *conn, struct pending_reply *record)
{
    struct conn_waiter self = {.record = record};
    bool ours = false;
    atomic_fetch_add(&conn->waiting, 1);
    pthread_mutex_lock(&conn->read_lock);
    while (!atomic_load(&record->done) && !(ours = role_take(conn))) {
        unsigned word;
        atomic_store(&self.word, WAITER_SLEEPS);
        ga_list_append(&conn->waiters, &self.at);
        pthread_mutex_unlock(&conn->read_lock);
        while ((word = atomic_load(&self.word)) == WAITER_SLEEPS) {
            syscall(SYS_futex, &self.word, FUTEX_WAIT_PRIVATE, WAITER_SLEEPS, NULL, NULL, 0);
        }
        pthread_mutex_lock(&conn->read_lock);
        if ((ours = word == WAITER_READS)) {
            break;
        }
    }
    pthread_mutex_unlock(&conn->read_lock);
    atomic_fetch_sub(&conn->waiting, 1);
    return ours;
}

static uint64_t wait_begin(void)
{
    return client_trace_mode != CLIENT_TRACE_NONE ? ga_clock_ns() : 0;
}

static void wait_end(struct client_conn *conn, const struct pending_reply *record, uint64_t start)
{
    if (start != 0) {
        uint64_t waited_ns = ga_clock_ns() - start;
        atomic_fetch_add_explicit(&conn->waits, record->want.together ? 0 : 1,
                                  memory_order_relaxed);
        atomic_fetch_add_explicit(&conn->waited_ns, waited_ns, memory_order_relaxed);
        client_trace_wait(waited_ns);
    }
    front_output_write();
}

void client_conn_wait(struct client_conn *conn, struct pending_reply *record)
{
    if (atomic_load(&record->done)) {
        front_output_write();
        return; /* it came together with an earlier answer */
    }
    uint64_t start = wait_begin();
    conn_send_until(conn, 0);
    if (role_take(conn) || wait_turn(conn, record)) {
        lead(conn, record);
        receive_leave(conn); /* the record is complete: only the leader completes records */
    }
    wait_end(conn, record, start);
}

bool client_conn_lead(struct client_conn *conn)
{
    return role_take(conn);
}

void client_conn_wait_leading(struct client_conn *conn, struct pending_reply *record)
{
    if (record == NULL) {
        receive_leave(conn);
    } else if (atomic_load(&conn->oldest_ns) != 0) { /* the call could not be sent at once */
        receive_leave(conn);
        client_conn_wait(conn, record);
    } else {
        uint64_t start = wait_begin();
        lead(conn, record);
        receive_leave(conn);
        wait_end(conn, record, start);
    }
}

struct pending_reply *client_conn_expect(struct client_conn *conn, uint64_t sequence, bool waited,
                                         const struct reply_action *want)
{
    pthread_mutex_lock(&conn->read_lock);
    struct pending_reply *record = conn_table_add(conn, sequence);
    if (record != NULL) {
        record->waited = waited;
        atomic_store_explicit(&record->references, waited ? 1 : 0, memory_order_relaxed);
        if (want != NULL) {
            record->want = *want;
        }
        if (want != NULL && want->host != NULL) {
            atomic_fetch_add(&conn->host_calls, 1);
        }
        if (!waited && atomic_fetch_add(&conn->unwaited, 1) == 0) {
            atomic_store(&conn->read_ns, ga_clock_ns());
        }
        if (atomic_load(&conn->facts.dead) != 0) {
            conn_complete(conn, record, 0, atomic_load(&conn->facts.dead));
        }
    }
    pthread_mutex_unlock(&conn->read_lock);
    return record;
}

/* The record is done, so no thread can begin to wait for it: a single reference is the last one. */
void client_conn_release(struct client_conn *conn, struct pending_reply *record)
{
    struct pending_reply *none = NULL;
    if (atomic_load_explicit(&record->references, memory_order_acquire) != 1 &&
        atomic_fetch_sub(&record->references, 1) != 1) {
        return;
    }
    if (record->results == NULL && atomic_compare_exchange_strong(&conn->spare, &none, record)) {
        return;
    }
    pthread_mutex_lock(&conn->read_lock);
    conn_table_free(conn, record);
    pthread_mutex_unlock(&conn->read_lock);
}

static struct pending_reply *overlapping(struct client_conn *conn, const uint8_t *start,
                                         uint64_t bytes, bool reads)
{
    for (unsigned i = 0; i < CONN_BUCKETS; i++) {
        for (struct pending_reply *at = conn->buckets[i]; at != NULL; at = at->next) {
            uint64_t rows = at->want.width != 0 ? at->want.bytes / at->want.width : 1;
            uint64_t extent = rows != 0 ? (rows - 1) * at->want.pitch + at->want.width : 0;
            if (at->want.to != NULL && at->want.to < start + bytes &&
                start < at->want.to + extent && (reads || !at->want.reads)) {
                return at;
            }
        }
    }
    return NULL;
}

void client_conn_wait_range(struct client_conn *conn, const void *start, uint64_t bytes, bool reads)
{
    while (atomic_load(&conn->unwaited) != 0) {
        pthread_mutex_lock(&conn->read_lock);
        struct pending_reply *record = overlapping(conn, start, bytes, reads);
        if (record != NULL) {
            atomic_fetch_add(&record->references, 1);
        }
        pthread_mutex_unlock(&conn->read_lock);
        if (record == NULL) {
            return;
        }
        client_conn_wait(conn, record);
        client_conn_release(conn, record);
    }
}
