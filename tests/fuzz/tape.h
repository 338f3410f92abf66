/* SPDX-License-Identifier: Apache-2.0 */
/* What a server has said to a program, frame by frame, and a server that says it again: a transport
 * in the place of every other one (the linker puts it there, see CMakeLists.txt). A frame of the
 * client is answered with what the real server has answered to the n-th frame of that opcode, under
 * the new sequence number, after the wanted mutations. So the answers fit, whichever calls a
 * program makes and however it goes on after wrong ones.
 *
 * What a reader would get wrong: recording and playing happen in forked children, for a program has
 * one client library in its life; a tape lies in memory that they share with their parent. */
#ifndef TESTS_FUZZ_TAPE_H
#define TESTS_FUZZ_TAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/fuzz/mutation.h"

struct tape;

struct tape *tape_make(void);
/* From here on all connections of this process are real ones, and what they say is kept. */
void tape_record(struct tape *tape);
/* From here on nobody is connected to anybody. Pieces: what comes, comes in small ones. When
 * nothing has moved for a moment, all connections end: an answer that was left out is no reason to
 * wait. */
void tape_play(const struct tape *tape, const struct mutation *mutations, size_t count, bool pieces,
               bool ends);

/* For who makes inputs: some answer that was recorded. */
void tape_some(const struct tape *tape, uint64_t random, struct mutation *where);

#endif
