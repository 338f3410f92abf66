/* The receiving half of a link: the reader role, and who waits. What an answer does: conn_answer.c.
 *
 * Only who has the role reads, and only who has it completes records: so nobody writes into the
 * memory of a call that has already returned, not even when the link is lost meanwhile. */
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "client/stream/host_function.h"
#include "client/conn/conn.h"
#include "client/process/trace.h"
#include "front/front.h"

#define PASSING_BYTES (8u << 20)

enum waiter_word { WAITER_SLEEPS = 0, WAITER_COMPLETE = 1, WAITER_READS = 2 };

struct link_waiter {
    struct ga_list at;
    struct link_record *record;
    atomic_uint word;
};

static void waiter_wake(struct link_waiter *waiter, enum waiter_word word)
{
    atomic_store(&waiter->word, word);
    syscall(SYS_futex, &waiter->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static bool role_take(struct client_link *link)
{
    return !atomic_load(&link->reading) && !atomic_exchange(&link->reading, true);
}

void link_complete(struct client_link *link, struct link_record *record, uint16_t opcode,
                   int result)
{
    link_table_remove(link, record); /* nobody can begin to wait for it any more */
    record->opcode = opcode;
    record->result = result;
    if (record->want.lease != NULL) {
        atomic_store(record->want.lease, 0);
    }
    if (record->waited) {
        client_link_raise(&link->answered, record->sequence);
    } else {
        atomic_fetch_sub(&link->unwaited, 1);
    }
    if (record->want.host != NULL && opcode == 0) {
        client_host_call_lost(record->want.host, result);
    }
    if (atomic_load_explicit(&record->references, memory_order_relaxed) == 0) {
        link_table_free(link, record);
        return;
    }
    ga_list_each (at, following, &link->waiters) {
        struct link_waiter *waiter = ga_container(at, struct link_waiter, at);
        if (waiter->record == record) {
            ga_list_remove(at);
            waiter_wake(waiter, WAITER_COMPLETE);
        }
    }
    atomic_store_explicit(&record->done, true, memory_order_release);
}

/* With the role and read_lock. */
static void complete_all(struct client_link *link)
{
    int dead = atomic_load(&link->dead);
    link->bulk = NULL;
    for (unsigned i = 0; i < LINK_BUCKETS; i++) {
        while (link->buckets[i] != NULL) {
            link_complete(link, link->buckets[i], 0, dead);
        }
    }
}

/* The role goes to a waiter that is not complete, or becomes free. */
static void hand_over(struct client_link *link)
{
    pthread_mutex_lock(&link->read_lock);
    if (atomic_load(&link->dead) != 0) {
        complete_all(link);
    }
    if (ga_list_empty(&link->waiters)) {
        atomic_store(&link->reading, false);
    } else {
        struct ga_list *first = link->waiters.next;
        ga_list_remove(first);
        waiter_wake(ga_container(first, struct link_waiter, at), WAITER_READS);
    }
    pthread_mutex_unlock(&link->read_lock);
}

static bool wanted(struct client_link *link)
{
    return atomic_load(&link->dead) != 0 || atomic_load(&link->waiting) != 0;
}

/* Whoever waits, or ends the link, says so first and then tries to take the role; we free it first
 * and then look who has said so: one of us sees the other. (Whoever takes it between does the same
 * when he leaves.) */
static void leave(struct client_link *link)
{
    if (!wanted(link)) {
        (void)GA_FAILPOINT("client: before the reader leaves");
        atomic_store(&link->reading, false);
        if (!wanted(link) || !role_take(link)) {
            return;
        }
    }
    hand_over(link);
}

/* ---- reading; with the role */

/* Reads until `record` is complete (GA_OK) or nothing more is there (GA_AGAIN). Who waits for no
 * record reads in passing: it has other things to do, however much comes. */
static enum ga_status read_all(struct client_link *link, const struct link_record *record)
{
    uint64_t enough = atomic_load(&link->bytes_in) + PASSING_BYTES;
    for (;;) {
        if (atomic_load(&link->dead) != 0) {
            pthread_mutex_lock(&link->read_lock);
            complete_all(link);
            pthread_mutex_unlock(&link->read_lock);
            return GA_LOST;
        }
        if (record == NULL && atomic_load(&link->bytes_in) >= enough) {
            return GA_AGAIN;
        }
        enum ga_status status = link_answer_take(link);
        if (status == GA_OK) {
            continue;
        }
        if (status == GA_AGAIN) {
            if (record != NULL && atomic_load(&record->done)) {
                return GA_OK;
            }
            if (link->bulk != NULL) {
                return GA_AGAIN;
            }
            status = frame_fill(&link->reader, &link->data);
            if (status == GA_OK) {
                continue;
            }
            if (status == GA_AGAIN) {
                return status;
            }
        }
        const char *trouble = transport_trouble(&link->data);
        client_link_lose(link, status != GA_LOST ? "it sent bytes that are no answer"
                               : trouble != NULL ? trouble
                                                 : "the connection ended");
    }
}

static void note_read(struct client_link *link)
{
    if (atomic_load_explicit(&link->unwaited, memory_order_relaxed) != 0) {
        atomic_store_explicit(&link->read_ns, ga_clock_ns(), memory_order_relaxed);
    }
}

/* Whether reading goes on until the record is complete: some time passes before it says no. The
 * clock takes longer than many answers, so it is not asked before the first looks were in vain. */
static bool read_spinning(struct client_link *link, const struct link_record *record)
{
    uint64_t spin_ns = ga_spin_begin(&link->spin), until = 0;
    unsigned looks = 0;
    enum ga_status status;
    while ((status = read_all(link, record)) == GA_AGAIN && spin_ns != 0) {
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
        ga_spin_end(&link->spin, status != GA_AGAIN);
    }
    return status != GA_AGAIN;
}

/* Until the record is complete. */
static void lead(struct client_link *link, const struct link_record *record)
{
    if (!atomic_load(&record->done)) {
        (void)read_spinning(link, record);
    }
    while (!atomic_load(&record->done)) {
        if (read_all(link, record) == GA_AGAIN) {
            struct pollfd at[TRANSPORT_AWAIT_MOST];
            struct transport_conn *from = link_awaited(link);
            unsigned count = from->ops->await(from, POLLIN, at);
            if (count != 0) {
                (void)poll(at, count, -1);
            }
        }
    }
    note_read(link);
}

void link_read_try(struct client_link *link)
{
    if (role_take(link)) {
        (void)read_all(link, NULL);
        note_read(link);
        leave(link);
    }
}

bool link_read_free(struct client_link *link)
{
    return !atomic_load(&link->reading);
}

void client_link_drain(struct client_link *link)
{
    client_link_flush(link);
    link_read_try(link);
}

/* ---- waiting */

/* Sleeps until the record is complete (false) or the role is ours (true). */
static bool wait_turn(struct client_link *link, struct link_record *record)
{
    struct link_waiter self = {.record = record};
    bool ours = false;
    atomic_fetch_add(&link->waiting, 1);
    pthread_mutex_lock(&link->read_lock);
    while (!atomic_load(&record->done) && !(ours = role_take(link))) {
        unsigned word;
        atomic_store(&self.word, WAITER_SLEEPS);
        ga_list_append(&link->waiters, &self.at);
        pthread_mutex_unlock(&link->read_lock);
        while ((word = atomic_load(&self.word)) == WAITER_SLEEPS) {
            syscall(SYS_futex, &self.word, FUTEX_WAIT_PRIVATE, WAITER_SLEEPS, NULL, NULL, 0);
        }
        pthread_mutex_lock(&link->read_lock);
        if ((ours = word == WAITER_READS)) {
            break;
        }
    }
    pthread_mutex_unlock(&link->read_lock);
    atomic_fetch_sub(&link->waiting, 1);
    return ours;
}

static uint64_t wait_begin(void)
{
    return client_trace_mode != CLIENT_TRACE_NONE ? ga_clock_ns() : 0;
}

static void wait_end(struct client_link *link, const struct link_record *record, uint64_t start)
{
    if (start != 0) {
        uint64_t waited_ns = ga_clock_ns() - start;
        atomic_fetch_add_explicit(&link->waits, record->want.together ? 0 : 1,
                                  memory_order_relaxed);
        atomic_fetch_add_explicit(&link->waited_ns, waited_ns, memory_order_relaxed);
        client_trace_wait(waited_ns);
    }
    front_output_write();
}

void client_link_wait(struct client_link *link, struct link_record *record)
{
    if (atomic_load(&record->done)) {
        front_output_write();
        return; /* it came along with an answer that was waited for before */
    }
    uint64_t start = wait_begin();
    link_send_until(link, 0);
    if (role_take(link) || wait_turn(link, record)) {
        lead(link, record);
        leave(link); /* nobody else completes what we have waited for in this role */
    }
    wait_end(link, record, start);
}

bool client_link_lead(struct client_link *link)
{
    return role_take(link);
}

void client_link_wait_leading(struct client_link *link, struct link_record *record)
{
    if (record == NULL) {
        leave(link);
    } else if (atomic_load(&link->oldest_ns) != 0) { /* it could not be sent at once */
        leave(link);
        client_link_wait(link, record);
    } else {
        uint64_t start = wait_begin();
        lead(link, record);
        leave(link);
        wait_end(link, record, start);
    }
}

struct link_record *client_link_expect(struct client_link *link, uint64_t sequence, bool waited,
                                       const struct link_want *want)
{
    pthread_mutex_lock(&link->read_lock);
    struct link_record *record = link_table_add(link, sequence);
    if (record != NULL) {
        record->waited = waited;
        atomic_store_explicit(&record->references, waited ? 1 : 0, memory_order_relaxed);
        if (want != NULL) {
            record->want = *want;
        }
        if (!waited && atomic_fetch_add(&link->unwaited, 1) == 0) {
            atomic_store(&link->read_ns, ga_clock_ns());
        }
        if (atomic_load(&link->dead) != 0) {
            link_complete(link, record, 0, atomic_load(&link->dead));
        }
    }
    pthread_mutex_unlock(&link->read_lock);
    return record;
}

/* It is done. Who waits for it alone is the last one: nobody else can begin to. */
void client_link_release(struct client_link *link, struct link_record *record)
{
    struct link_record *none = NULL;
    if (atomic_load_explicit(&record->references, memory_order_acquire) != 1 &&
        atomic_fetch_sub(&record->references, 1) != 1) {
        return;
    }
    if (record->results == NULL && atomic_compare_exchange_strong(&link->spare, &none, record)) {
        return;
    }
    pthread_mutex_lock(&link->read_lock);
    link_table_free(link, record);
    pthread_mutex_unlock(&link->read_lock);
}

static struct link_record *overlapping(struct client_link *link, const uint8_t *start,
                                       uint64_t bytes, bool reads)
{
    for (unsigned i = 0; i < LINK_BUCKETS; i++) {
        for (struct link_record *at = link->buckets[i]; at != NULL; at = at->next) {
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

void client_link_wait_range(struct client_link *link, const void *start, uint64_t bytes, bool reads)
{
    while (atomic_load(&link->unwaited) != 0) {
        pthread_mutex_lock(&link->read_lock);
        struct link_record *record = overlapping(link, start, bytes, reads);
        if (record != NULL) {
            atomic_fetch_add(&record->references, 1);
        }
        pthread_mutex_unlock(&link->read_lock);
        if (record == NULL) {
            return;
        }
        client_link_wait(link, record);
        client_link_release(link, record);
    }
}
