/* SPDX-License-Identifier: Apache-2.0 */
/* The completion thread.
 *
 * The submit thread hands entries in through `incoming`; from then on they belong to this thread.
 * Work that needs the state of the application (unmapping after a wait) goes back as a job. */
#include "server/conn/completer.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/app/fault.h"
#include "server/app/kernel_output.h"
#include "server/conn/conn.h"
#include "server/conn/copy_chunks.h"
#include "server/conn/reply.h"
#include "server/objects/driver_events.h"

#define SPIN_NS      (50 * GA_NS_PER_US)
#define SLEEP_NS_MIN (20 * GA_NS_PER_US)
#define SLEEP_NS_MAX GA_NS_PER_MS
#define SLEEP_SHARE  20 /* it sleeps for a twentieth of the youngest wait's age */
#define UNUSED_BATCH 64u
#define UNUSED_MAX   1024u

struct completer_entry *completer_entry_make(struct completer *completer, enum completer_kind kind,
                                             uint16_t session, uint64_t sequence)
{
    struct completer_entry *entry = ga_pool_take(&completer->unused);
    if (entry != NULL) {
        *entry = (struct completer_entry){.kind = kind, .session = session, .sequence = sequence};
    }
    return entry;
}

static void entry_release(struct completer *completer, struct completer_entry *entry)
{
    if (entry->event != NULL) {
        event_drop(completer->app, entry->event);
        entry->event = NULL;
    }
    event_marks_drop(completer->app, &entry->marks);
}

void completer_entry_free(struct completer *completer, struct completer_entry *entry)
{
    if (entry != NULL) {
        entry_release(completer, entry);
        ga_pool_give(&completer->unused, entry);
    }
}

/* The first of those that it waits for still, or the last; NULL: there are none. */
static const struct event_ref *entry_event(const struct completer_entry *entry)
{
    const struct event_marks *marks = &entry->marks;
    if (entry->event != NULL || marks->count == 0) {
        return entry->event;
    }
    unsigned at = entry->marks_done < marks->count ? entry->marks_done : marks->count - 1;
    return marks->many != NULL ? marks->many[at] : marks->few[at];
}

/* ---- polling */

static CUresult completer_event_query(struct completer *completer, struct event_ref *ref)
{
    CUresult rc = completer->app->driver->cuEventQuery(ref->real);
    if (rc != CUDA_SUCCESS && rc != CUDA_ERROR_NOT_READY) {
        server_check_fault(completer->app, rc);
    }
    return rc;
}

static bool context_has_ended(const struct event_ref *ref)
{
    return atomic_load_explicit(&ref->context->ended, memory_order_relaxed);
}

/* Lets go of the contexts that have ended, which are freed, if others are left to wait for. */
static bool entry_narrow(struct completer *completer, struct completer_entry *entry)
{
    struct event_marks *marks = &entry->marks;
    struct event_ref **refs = event_marks_refs(marks);
    unsigned kept = 0, done = 0, left = 0;
    for (unsigned i = 0; i < marks->count; i++) {
        left += !context_has_ended(refs[i]);
    }
    for (unsigned i = 0; left != 0 && i < marks->count; i++) {
        if (context_has_ended(refs[i])) {
            event_drop(completer->app, refs[i]);
        } else {
            done += i < entry->marks_done;
            refs[kept++] = refs[i];
        }
    }
    if (left != 0) {
        marks->count = kept;
        entry->marks_done = done;
    }
    return left != 0;
}

/* The result of an entry that is not ready: NOT_READY if there is anything to wait for. */
static CUresult entry_unready(struct completer *completer, struct completer_entry *entry)
{
    if (entry->marks.of_several && entry_narrow(completer, entry)) {
        return entry->marks_done < entry->marks.count ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
    }
    return context_has_ended(entry_event(entry)) ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                                 : CUDA_ERROR_NOT_READY;
}

static bool entry_poll(void *user, struct completion *base)
{
    struct completer *completer = user;
    struct completer_entry *entry = ga_container(base, struct completer_entry, base);
    CUresult rc = (CUresult)atomic_load(&completer->app->fault);
    if (rc == CUDA_SUCCESS && entry->event != NULL) {
        rc = completer_event_query(completer, entry->event);
    }
    while (rc == CUDA_SUCCESS && entry->marks_done < entry->marks.count) {
        rc = completer_event_query(completer, event_marks_refs(&entry->marks)[entry->marks_done]);
        entry->marks_done += rc == CUDA_SUCCESS;
    }
    if (rc == CUDA_ERROR_NOT_READY) {
        rc = entry_unready(completer, entry);
    }
    if (rc == CUDA_ERROR_NOT_READY) {
        return false;
    }
    entry->rc = entry->rc == CUDA_SUCCESS ? rc : entry->rc;
    return true;
}

/* In the completion thread the context of an event is made current first. */
static bool entry_poll_in_thread(void *user, struct completion *base)
{
    struct completer *completer = user;
    struct completer_entry *entry = ga_container(base, struct completer_entry, base);
    const struct event_ref *ref = entry_event(entry);
    if (ref != NULL) {
        (void)completer->app->driver->cuCtxSetCurrent(ref->context->real);
    }
    return entry_poll(user, base);
}

/* ---- telling */

/* `frames`: the pool of the thread that is here. */
static void result_send(struct completer *completer, struct ga_pool *frames,
                        const struct completer_entry *entry, uint16_t opcode)
{
    struct send_queue_frame *frame =
        send_queue_frame_make(frames, 16, opcode, entry->session, entry->sequence);
    if (frame == NULL) {
        server_fail(completer->app, "no memory for a reply");
        return;
    }
    ga_write_i32(&frame->writer, (int32_t)entry->rc);
    ga_write_u32(&frame->writer, entry->host_call_id);
    send_queue_append(&completer->conn->out, frame);
}

/* Whether the client waits for it, and nothing of its call comes behind it. */
static bool ends_a_call(const struct completer_entry *entry)
{
    return entry->kind == COMPLETER_REPLY ||
           ((entry->kind == COMPLETER_DATA || entry->kind == COMPLETER_STORE) && entry->last);
}

/* Kernel output is sent before the answer that reports the end of the kernels. */
static void output_before(struct completer *completer, const struct completer_entry *entry)
{
    const struct event_ref *ref = entry_event(entry);
    bool tells =
        entry->kind == COMPLETER_DONE || entry->kind == COMPLETER_HOST || ends_a_call(entry);
    if (tells && ref != NULL) {
        output_of_event(completer->app, ref);
    }
}

/* Tells and frees the entry. A job is not over before the submit thread has done it. */
static void entry_emit(struct completer *completer, struct ga_pool *frames,
                       struct completer_entry *entry)
{
    (void)GA_FAILPOINT("backend: work done");
    output_before(completer, entry);
    switch (entry->kind) {
    case COMPLETER_REPLY:
        if (entry->piece != NULL) {
            shared_buffer_drop(entry->piece); /* who has read the reply may give it up */
        }
        break;
    case COMPLETER_DONE:
        result_send(completer, frames, entry, WIRE_DONE);
        break;
    case COMPLETER_HOST:
        host_lease_called(&completer->conn->host_calls, entry->host_call_id);
        result_send(completer, frames, entry, WIRE_DONE);
        break;
    case COMPLETER_FRAME:
        send_queue_append(&completer->conn->out, entry->frame);
        break;
    case COMPLETER_DATA:
        copy_chunk_send(completer, frames, entry);
        break;
    case COMPLETER_STORE:
        copy_chunk_store(completer, frames, entry);
        if (entry->last) {
            shared_buffer_drop(entry->piece);
        }
        break;
    case COMPLETER_SLOT:
        staging_give(&completer->conn->staging, entry->slot);
        break;
    case COMPLETER_JOB:
        entry_release(completer, entry);
        conn_add_job(completer->conn, entry);
        return;
    }
    if (ends_a_call(entry)) {
        result_send(completer, frames, entry, WIRE_REPLY);
    }
    completer_entry_free(completer, entry);
}

static void entry_emit_in_thread(void *user, struct completion *base)
{
    struct completer *completer = user;
    entry_emit(completer, &completer->frames, ga_container(base, struct completer_entry, base));
    if (atomic_fetch_sub(&completer->outstanding, 1) == COMPLETIONS_MAX) {
        pthread_mutex_lock(&completer->lock);
        pthread_cond_broadcast(&completer->shrunk);
        pthread_mutex_unlock(&completer->lock);
    }
}

/* ---- the submit thread's side */

static bool emit_at_once(struct completer *completer, struct completer_entry *entry)
{
    if (!entry_poll(completer, &entry->base)) {
        return false;
    }
    entry_emit(completer, &completer->conn->frames, entry);
    return true;
}

static void give_to_thread(struct completer *completer, struct completer_entry *entry)
{
    if (entry->kind != COMPLETER_SLOT) {
        atomic_store(&completer->newest_ns, ga_clock_ns());
    }
    pthread_mutex_lock(&completer->lock);
    atomic_fetch_add(&completer->outstanding, 1);
    completion_list_add(&completer->incoming, &entry->base);
    bool wake = completer->asleep;
    completer->asleep = false;
    pthread_mutex_unlock(&completer->lock);
    if (wake) {
        (void)!eventfd_write(completer->wake_fd, 1);
    }
}

void completer_add(struct completer *completer, struct completer_entry *entry)
{
    completer_hand_over(completer);
    if (atomic_load(&completer->outstanding) != 0) {
        give_to_thread(completer, entry);
    } else if (!emit_at_once(completer, entry)) {
        if (ends_a_call(entry)) {
            completer->held = entry;
        } else {
            give_to_thread(completer, entry);
        }
    }
}

bool completer_poll(struct completer *completer)
{
    if (completer->held == NULL || !emit_at_once(completer, completer->held)) {
        return false;
    }
    completer->held = NULL;
    return true;
}

void completer_hand_over(struct completer *completer)
{
    if (completer->held != NULL) {
        give_to_thread(completer, completer->held);
        completer->held = NULL;
    }
}

bool completer_is_idle(struct completer *completer)
{
    return completer->held == NULL && atomic_load(&completer->outstanding) == 0;
}

enum ga_status completer_wait_room(struct completer *completer)
{
    if (atomic_load(&completer->outstanding) < COMPLETIONS_MAX) {
        return GA_OK;
    }
    const atomic_bool *ended = &completer->conn->ended;
    pthread_mutex_lock(&completer->lock);
    while (atomic_load(&completer->outstanding) >= COMPLETIONS_MAX && !atomic_load(ended)) {
        pthread_cond_wait(&completer->shrunk, &completer->lock);
    }
    enum ga_status status = atomic_load(ended) ? GA_LOST : GA_OK;
    pthread_mutex_unlock(&completer->lock);
    return status;
}

void completer_interrupt(struct completer *completer)
{
    pthread_mutex_lock(&completer->lock);
    pthread_cond_broadcast(&completer->shrunk);
    pthread_mutex_unlock(&completer->lock);
}

void completer_wake(struct completer *completer)
{
    (void)!eventfd_write(completer->wake_fd, 1);
}

void completer_expedite(struct completer *completer)
{
    if (atomic_load(&completer->outstanding) != 0) {
        atomic_store(&completer->newest_ns, ga_clock_ns());
        completer_wake(completer);
    }
}

/* ---- the thread */

/* How long to sleep; 0: not at all. */
static uint64_t completer_sleep_ns(const struct completer *completer)
{
    uint64_t now = ga_clock_ns(), newest = atomic_load(&completer->newest_ns);
    uint64_t age = now > newest ? now - newest : 0;
    if (age < SPIN_NS) {
        return 0;
    }
    uint64_t ns = age / SLEEP_SHARE;
    return ns < SLEEP_NS_MIN ? SLEEP_NS_MIN : ns > SLEEP_NS_MAX ? SLEEP_NS_MAX : ns;
}

/* `waiting`: bytes are left in the send queue. */
static void completer_sleep(struct completer *completer, bool waiting)
{
    struct send_queue *out = &completer->conn->out;
    uint64_t held_ns = waiting ? send_queue_held_ns(out) : 0;
    uint64_t most_ns = held_ns != 0 ? held_ns : UINT64_MAX;
    bool writable = waiting && held_ns == 0;
    if (completer->entries.count != 0 || send_queue_is_storing(out)) {
        uint64_t ns = completer_sleep_ns(completer);
        if (ns == 0 && !writable) {
            sched_yield();
            return;
        }
        most_ns = ns < most_ns ? ns : most_ns;
    }
    pthread_mutex_lock(&completer->lock);
    bool sleep = ga_list_empty(&completer->incoming.entries) && !completer->ended;
    completer->asleep = sleep;
    pthread_mutex_unlock(&completer->lock);
    if (!sleep) {
        return;
    }
    struct pollfd fds[1 + SEND_QUEUE_POLL_MAX] = {{.fd = completer->wake_fd, .events = POLLIN}};
    unsigned count = writable ? send_queue_poll_prepare(out, fds + 1) : 0;
    if (writable && count == 0) {
        return;
    }
    const struct timespec time = {.tv_nsec = (long)most_ns}; /* less than a second */
    if (ppoll(fds, 1 + count, most_ns != UINT64_MAX ? &time : NULL, NULL) > 0 &&
        (fds[0].revents & POLLIN) != 0) {
        eventfd_t count;
        (void)!eventfd_read(completer->wake_fd, &count);
    }
}

static void *completer_run(void *argument)
{
    struct completer *completer = argument;
    ga_log_set_thread_client(completer->app->host->client);
    (void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL,
                0UL); /* it sleeps for moments: 1 us is exact enough */
    for (;;) {
        pthread_mutex_lock(&completer->lock);
        completer->asleep = false;
        completion_list_take(&completer->entries, &completer->incoming);
        bool ended = completer->ended;
        pthread_mutex_unlock(&completer->lock);
        if (ended) {
            return NULL;
        }
        size_t told = completion_list_run(&completer->entries, entry_poll_in_thread,
                                          entry_emit_in_thread, completer);
        enum ga_status status = send_queue_flush(&completer->conn->out);
        if (status == GA_LOST) {
            conn_end(completer->conn); /* the submit thread may be waiting for room */
        }
        if (told == 0) {
            completer_sleep(completer, status == GA_AGAIN);
        }
    }
}

void completer_init(struct completer *completer, struct server_conn *conn)
{
    *completer = (struct completer){.app = conn->app, .conn = conn, .wake_fd = -1};
    completion_list_init(&completer->incoming);
    completion_list_init(&completer->entries);
    ga_pool_init(&completer->unused, sizeof(struct completer_entry), UNUSED_BATCH, UNUSED_MAX);
    send_queue_pool_init(&completer->frames);
    pthread_mutex_init(&completer->lock, NULL);
    pthread_cond_init(&completer->shrunk, NULL);
}

enum ga_status completer_start(struct completer *completer)
{
    completer->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (completer->wake_fd < 0 ||
        pthread_create(&completer->thread, NULL, completer_run, completer) != 0) {
        return GA_NO_MEMORY;
    }
    return GA_OK;
}

void completer_stop(struct completer *completer)
{
    pthread_mutex_lock(&completer->lock);
    completer->ended = true;
    pthread_mutex_unlock(&completer->lock);
    completer_wake(completer);
    (void)pthread_join(completer->thread, NULL);
    completer_hand_over(completer);
    completion_list_take(&completer->entries, &completer->incoming);
    ga_list_each (at, next, &completer->entries.entries) {
        struct completer_entry *entry =
            ga_container(ga_container(at, struct completion, link), struct completer_entry, base);
        ga_list_remove(&entry->base.link);
        if (entry->slot != NULL) {
            staging_give(&completer->conn->staging, entry->slot);
        }
        if (entry->frame != NULL) {
            send_queue_frame_free(entry->frame);
        }
        completer_entry_free(completer, entry);
    }
}

void completer_fini(struct completer *completer)
{
    if (completer->wake_fd >= 0) {
        close(completer->wake_fd);
    }
    ga_pool_fini(&completer->unused);
    ga_pool_fini(&completer->frames);
    pthread_cond_destroy(&completer->shrunk);
    pthread_mutex_destroy(&completer->lock);
    free(completer->compressed);
}
