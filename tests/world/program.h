/* SPDX-License-Identifier: Apache-2.0 */
/* A program: it connects to a node, opens devices, allocates and works, and ends; and then another
 * one begins in its place. */
#ifndef TESTS_WORLD_PROGRAM_H
#define TESTS_WORLD_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct world;
struct world_program;

void programs_make(struct world *world);
bool programs_ended(const struct world *world);
void programs_free(struct world *world);

unsigned program_tenant(const struct world_program *program);
/* Bytes of its control connection have come; size 0: its end. */
void program_hear(struct world_program *program, const uint8_t *bytes, size_t size);
/* Its backend process has died; or has ended it, and said why. */
void program_lost(struct world_program *program);
void program_told(struct world_program *program, const char *why);
/* The answer to backend_allocate. */
void program_allocated(struct world_program *program, uint32_t gpu, uint64_t bytes, bool done);

#endif
