/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of the request manager, and what gpuaasd's loop tells it. */
#include "server/turns/scheduler.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/turns/scheduler_gpu.h"

#define EVENTS_AT_ONCE 32
/* A process that rings more often than so in a period is heard in the next one: one that does
 * nothing but ring does not keep the thread from the others. */
#define RINGS_MAX 128u
#define PERIOD_NS (10 * GA_NS_PER_MS)

struct scheduler_process {
    struct ga_list link;
    struct scheduler *scheduler;
    uint64_t number;
    const struct grant_requests *requests; /* which the process writes: a stranger's */
    struct grants *grants;
    int bell;       /* -1: it has died */
    bool ended;     /* gpuaasd's loop knows it no more: the thread frees it */
    unsigned rings; /* of this period */
    bool deaf;      /* its bell is not listened to until the next one */
    struct ga_list members;
};

struct scheduler {
    pthread_t thread;
    pthread_mutex_t lock; /* of all that follows */
    int epoll, timer, wake;
    bool ending;
    uint64_t period_ns; /* when the next one begins; only while somebody is deaf */
    bool any_deaf;
    struct ga_list processes;
    uint32_t gpu_count;
    struct scheduler_gpu *gpus;
};

/* ---- bells */

static void process_listen(struct scheduler_process *process, bool listen)
{
    struct epoll_event event = {.events = listen ? EPOLLIN : 0, .data.ptr = process};
    process->deaf = !listen;
    (void)epoll_ctl(process->scheduler->epoll, EPOLL_CTL_MOD, process->bell, &event);
}

static void member_end(struct scheduler_member *member, uint64_t now)
{
    scheduler_gpu_leave(member, now);
    ga_list_remove(&member->fellow);
    free(member);
}

/* Takes the process out: it has no turns any more, and nobody rings. */
static void process_close(struct scheduler_process *process, uint64_t now)
{
    ga_list_each (at, next, &process->members) {
        member_end(ga_container(at, struct scheduler_member, fellow), now);
    }
    if (process->bell >= 0) {
        close(process->bell);
        process->bell = -1;
    }
}

/* The byte carries no information; the thread reads all requests again. */
static void bell_heard(struct scheduler_process *process, uint64_t now)
{
    char rung[256];
    if (process->bell < 0) {
        return;
    }
    ssize_t got = recv(process->bell, rung, sizeof rung, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        process_close(process, now);
    } else if (++process->rings > RINGS_MAX) {
        process_listen(process, false);
        process->scheduler->any_deaf = true;
    }
}

static void period_begin(struct scheduler *scheduler, uint64_t now)
{
    scheduler->period_ns = now + PERIOD_NS;
    scheduler->any_deaf = false;
    ga_list_each (at, next, &scheduler->processes) {
        struct scheduler_process *process = ga_container(at, struct scheduler_process, link);
        process->rings = 0;
        if (process->deaf && process->bell >= 0) {
            process_listen(process, true);
        }
    }
}

/* One for all that has changed for a process. */
static void processes_ring(struct scheduler *scheduler)
{
    ga_list_each (at, next, &scheduler->processes) {
        struct scheduler_process *process = ga_container(at, struct scheduler_process, link);
        bool rings = false;
        ga_list_each (of, following, &process->members) {
            struct scheduler_member *member = ga_container(of, struct scheduler_member, fellow);
            rings = rings || member->rings;
            member->rings = false;
        }
        if (rings && process->bell >= 0) {
            (void)GA_FAILPOINT("gpuaasd: before turns are told");
            (void)!send(process->bell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL); /* full: it rings */
        }
    }
}

/* ---- the thread */

/* The thread may have had an event of it at hand until now. */
static void processes_bury(struct scheduler *scheduler)
{
    ga_list_each (at, next, &scheduler->processes) {
        struct scheduler_process *process = ga_container(at, struct scheduler_process, link);
        if (process->ended) {
            ga_list_remove(&process->link);
            free(process);
        }
    }
}

/* With the lock. When to look again. */
static uint64_t scheduler_turn(struct scheduler *scheduler, uint64_t now)
{
    if (now >= scheduler->period_ns) {
        period_begin(scheduler, now);
    }
    uint64_t next_ns = scheduler->any_deaf ? scheduler->period_ns : SCHED_NEVER;
    processes_bury(scheduler);
    for (uint32_t i = 0; i < scheduler->gpu_count; i++) {
        struct scheduler_gpu *gpu = &scheduler->gpus[i];
        if (!ga_list_empty(&gpu->members)) {
            scheduler_gpu_turn(gpu, now);
            next_ns = gpu->next_ns < next_ns ? gpu->next_ns : next_ns;
        }
    }
    processes_ring(scheduler);
    return next_ns;
}

static void timer_set(const struct scheduler *scheduler, uint64_t at_ns)
{
    const struct itimerspec time = {.it_value = ga_clock_time(at_ns != SCHED_NEVER ? at_ns : 0)};
    (void)timerfd_settime(scheduler->timer, TFD_TIMER_ABSTIME, &time, NULL);
}

static void events_take(struct scheduler *scheduler, const struct epoll_event *events, int count,
                        uint64_t now)
{
    for (int i = 0; i < count; i++) {
        uint64_t told;
        if (events[i].data.ptr == &scheduler->timer) {
            (void)!read(scheduler->timer, &told, sizeof told);
        } else if (events[i].data.ptr == &scheduler->wake) {
            (void)!read(scheduler->wake, &told, sizeof told);
        } else {
            bell_heard(events[i].data.ptr, now);
        }
    }
}

static void *scheduler_run(void *argument)
{
    struct scheduler *scheduler = argument;
    (void)prctl(PR_SET_NAME, "gpuaasd-sched");
    (void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL); /* turns end within microseconds */
    pthread_mutex_lock(&scheduler->lock);
    while (!scheduler->ending) {
        struct epoll_event events[EVENTS_AT_ONCE];
        timer_set(scheduler, scheduler_turn(scheduler, ga_clock_ns()));
        pthread_mutex_unlock(&scheduler->lock);
        int count = epoll_wait(scheduler->epoll, events, EVENTS_AT_ONCE, -1);
        pthread_mutex_lock(&scheduler->lock);
        events_take(scheduler, events, count, ga_clock_ns());
    }
    pthread_mutex_unlock(&scheduler->lock);
    return NULL;
}

/* It looks at everything. */
static void scheduler_wake(const struct scheduler *scheduler)
{
    (void)!eventfd_write(scheduler->wake, 1);
}

/* ---- life */

static bool watch(const struct scheduler *scheduler, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    return fd >= 0 && epoll_ctl(scheduler->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool scheduler_descriptors(struct scheduler *scheduler)
{
    scheduler->epoll = epoll_create1(EPOLL_CLOEXEC);
    scheduler->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    scheduler->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return scheduler->epoll >= 0 && watch(scheduler, scheduler->timer, &scheduler->timer) &&
           watch(scheduler, scheduler->wake, &scheduler->wake);
}

static void scheduler_free(struct scheduler *scheduler)
{
    const int fds[] = {scheduler->epoll, scheduler->timer, scheduler->wake};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    processes_bury(scheduler);
    for (uint32_t i = 0; i < scheduler->gpu_count; i++) {
        scheduler_gpu_fini(&scheduler->gpus[i]);
    }
    pthread_mutex_destroy(&scheduler->lock);
    free(scheduler->gpus);
    free(scheduler);
}

static enum ga_status gpus_init(struct scheduler *scheduler,
                                const struct scheduler_settings *settings, uint32_t gpus)
{
    scheduler->gpus = calloc(gpus, sizeof *scheduler->gpus);
    for (uint32_t i = 0; scheduler->gpus != NULL && i < gpus; i++) {
        GA_TRY(scheduler_gpu_init(&scheduler->gpus[i], &settings[i], ga_clock_ns()));
        scheduler->gpu_count++;
    }
    return scheduler->gpus != NULL ? GA_OK : GA_NO_MEMORY;
}

enum ga_status scheduler_start(struct scheduler **out, const struct scheduler_settings *settings,
                               uint32_t gpus)
{
    struct scheduler *scheduler = calloc(1, sizeof *scheduler);
    if (scheduler == NULL) {
        return GA_NO_MEMORY;
    }
    scheduler->epoll = scheduler->timer = scheduler->wake = -1;
    pthread_mutex_init(&scheduler->lock, NULL);
    ga_list_init(&scheduler->processes);
    if (gpus_init(scheduler, settings, gpus) != GA_OK || !scheduler_descriptors(scheduler) ||
        pthread_create(&scheduler->thread, NULL, scheduler_run, scheduler) != 0) {
        scheduler_free(scheduler);
        return GA_NO_MEMORY;
    }
    *out = scheduler;
    return GA_OK;
}

void scheduler_stop(struct scheduler *scheduler)
{
    pthread_mutex_lock(&scheduler->lock);
    scheduler->ending = true;
    pthread_mutex_unlock(&scheduler->lock);
    scheduler_wake(scheduler);
    (void)pthread_join(scheduler->thread, NULL);
    scheduler_free(scheduler);
}

/* ---- settings, and monitoring */

uint64_t scheduler_decisions(struct scheduler *scheduler, uint32_t gpu)
{
    pthread_mutex_lock(&scheduler->lock);
    uint64_t decisions = scheduler->gpus[gpu].decisions;
    pthread_mutex_unlock(&scheduler->lock);
    return decisions;
}

void scheduler_change(struct scheduler *scheduler, uint32_t gpu,
                      const struct scheduler_settings *settings)
{
    pthread_mutex_lock(&scheduler->lock);
    scheduler_gpu_change(&scheduler->gpus[gpu], settings, ga_clock_ns());
    pthread_mutex_unlock(&scheduler->lock);
    scheduler_wake(scheduler);
}

void scheduler_terms_change(struct scheduler *scheduler, uint64_t tenant,
                            const struct scheduler_terms *terms)
{
    pthread_mutex_lock(&scheduler->lock);
    for (uint32_t i = 0; i < scheduler->gpu_count; i++) {
        ga_list_each (at, next, &scheduler->gpus[i].members) {
            struct scheduler_member *member = ga_container(at, struct scheduler_member, link);
            if (member->asks.tenant == tenant) {
                scheduler_gpu_terms(member, terms, ga_clock_ns());
            }
        }
    }
    pthread_mutex_unlock(&scheduler->lock);
    scheduler_wake(scheduler);
}

static struct scheduler_session scheduler_session_of(const struct scheduler_member *member,
                                                     uint64_t now)
{
    const struct sched_request *asks = &member->asks;
    return (struct scheduler_session){.process = member->process->number,
                                      .seat = member->seat,
                                      .tenant = asks->tenant,
                                      .terms = {asks->weight, asks->priority, asks->cap_percent,
                                                asks->throttle_percent, asks->goal_ns},
                                      .account =
                                          sched_account(member->gpu->sched, member->slot, now),
                                      .waits = !member->holds && asks->wants != 0,
                                      .holds = member->holds && !member->lost,
                                      .lost = member->lost};
}

/* ---- processes */

static void process_unmap(const struct scheduler_process *process)
{
    (void)munmap((void *)(uintptr_t)process->requests, sizeof *process->requests);
    (void)munmap(process->grants, sizeof *process->grants);
}

struct scheduler_process *scheduler_process_begin(struct scheduler *scheduler, uint64_t number,
                                                  const struct grant_requests *requests,
                                                  struct grants *grants, int bell)
{
    struct scheduler_process *process = calloc(1, sizeof *process);
    const struct scheduler_process made = {.scheduler = scheduler,
                                           .number = number,
                                           .requests = requests,
                                           .grants = grants,
                                           .bell = bell};
    bool heard = false;
    if (process != NULL) {
        *process = made;
        ga_list_init(&process->members);
        pthread_mutex_lock(&scheduler->lock);
        heard = watch(scheduler, bell, process);
        if (heard) {
            ga_list_append(&scheduler->processes, &process->link);
        }
        pthread_mutex_unlock(&scheduler->lock);
    }
    if (!heard) {
        free(process);
        return NULL;
    }
    return process;
}

void scheduler_process_end(struct scheduler_process *process)
{
    struct scheduler *scheduler = process->scheduler;
    pthread_mutex_lock(&scheduler->lock);
    process_close(process, ga_clock_ns());
    process_unmap(process);
    process->ended = true;
    pthread_mutex_unlock(&scheduler->lock);
    scheduler_wake(scheduler);
}

/* With the lock. NULL: it has no session there. */
static struct scheduler_member *member_find(const struct scheduler_process *process, uint32_t seat,
                                            uint32_t gpu)
{
    ga_list_each (at, next, &process->members) {
        struct scheduler_member *member = ga_container(at, struct scheduler_member, fellow);
        if (member->seat == seat && member->gpu == &process->scheduler->gpus[gpu]) {
            return member;
        }
    }
    return NULL;
}

bool scheduler_session_look(struct scheduler_process *process, uint32_t seat, uint32_t gpu,
                            struct scheduler_session *session)
{
    pthread_mutex_lock(&process->scheduler->lock);
    const struct scheduler_member *member = member_find(process, seat, gpu);
    if (member != NULL) {
        *session = scheduler_session_of(member, ga_clock_ns());
    }
    pthread_mutex_unlock(&process->scheduler->lock);
    return member != NULL;
}

void scheduler_session_share(struct scheduler_process *process, uint32_t seat, uint32_t gpu,
                             const struct time_share *share)
{
    pthread_mutex_lock(&process->scheduler->lock);
    struct scheduler_member *member = member_find(process, seat, gpu);
    if (member != NULL) {
        scheduler_gpu_share(member, share);
    }
    pthread_mutex_unlock(&process->scheduler->lock);
}

/* With the lock. A process that has died needs no turns. */
static enum ga_status session_join(struct scheduler_process *process, uint32_t gpu,
                                   const struct scheduler_member *first)
{
    struct scheduler_gpu *of = &process->scheduler->gpus[gpu];
    if (process->bell < 0 || member_find(process, first->seat, gpu) != NULL) {
        return GA_OK;
    }
    struct scheduler_member *member = malloc(sizeof *member);
    if (member == NULL) {
        return GA_NO_MEMORY;
    }
    *member = *first;
    if (scheduler_gpu_join(of, member, ga_clock_ns()) != GA_OK) {
        free(member);
        return GA_NO_MEMORY;
    }
    ga_list_append(&process->members, &member->fellow);
    return GA_OK;
}

enum ga_status scheduler_session_begin(struct scheduler_process *process, uint32_t seat,
                                       uint32_t gpu, uint32_t ordinal,
                                       const struct figures *figures, uint64_t tenant,
                                       const struct scheduler_terms *terms)
{
    const struct scheduler_member first = {.process = process,
                                           .seat = seat,
                                           .ordinal = ordinal,
                                           .request = &process->requests->of[seat][gpu],
                                           .grant = &process->grants->of[seat][gpu],
                                           .figures = figures,
                                           .asks = {.tenant = tenant,
                                                    .weight = terms->weight,
                                                    .priority = terms->priority,
                                                    .cap_percent = terms->cap_percent,
                                                    .throttle_percent = terms->throttle_percent,
                                                    .goal_ns = terms->goal_ns}};
    pthread_mutex_lock(&process->scheduler->lock);
    enum ga_status status = session_join(process, gpu, &first);
    pthread_mutex_unlock(&process->scheduler->lock);
    scheduler_wake(process->scheduler);
    return status;
}

void scheduler_seat_end(struct scheduler_process *process, uint32_t seat)
{
    pthread_mutex_lock(&process->scheduler->lock);
    ga_list_each (at, next, &process->members) {
        struct scheduler_member *member = ga_container(at, struct scheduler_member, fellow);
        if (member->seat == seat) {
            member_end(member, ga_clock_ns());
        }
    }
    pthread_mutex_unlock(&process->scheduler->lock);
    scheduler_wake(process->scheduler);
}
