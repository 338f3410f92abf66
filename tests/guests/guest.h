/* SPDX-License-Identifier: Apache-2.0 */
/* The shared header of the program `guest`: the calls of libcuda.so.1, found by dlopen. */
#ifndef GUEST_H
#define GUEST_H

#include <pthread.h>
#include <stddef.h>

extern struct guest_cuda {
    void *library;
    int (*init)(unsigned);
    int (*device)(int *, int);
    int (*retain)(void **, int);
    int (*release)(int);
    int (*set)(void *);
    int (*alloc)(unsigned long long *, size_t);
    int (*free)(unsigned long long);
    int (*in)(unsigned long long, const void *, size_t);
    int (*out)(void *, unsigned long long, size_t);
} cuda;

void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Checks a CUresult. */
void check(int rc, const char *what);
#define CHECK(call) check(call, #call)
void *symbol(const char *name);

void load(void);
/* The primary context of device 0 is current. */
void begin(void);
/* There and back, `rounds` times; -1: for ever. */
void copies(int rounds);
int session(void);
void start(pthread_t *thread, size_t stack, void *(*function)(void *));
/* A thread. */
void *copy_for_ever(void *unused);

/* Modes (cancelled.c). */
int cancel_in_threads(void);
int cancel_pending(void);

#endif
