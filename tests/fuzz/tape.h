/* SPDX-License-Identifier: Apache-2.0 */
/* A tape: the recorded frames of a server to a program, and a server that replays them. It is a
 * transport in the place of all others (the linker puts it there, see CMakeLists.txt). The n-th
 * frame of the client with some opcode is answered with the real server's answer to the n-th frame
 * of that opcode, under the new sequence number, after the requested mutations. The answers fit
 * whichever calls a program makes and however it reacts to wrong answers.
 *
 * Note: recording and playing happen in forked children, because a program has only one client
 * library in its life. A tape is in memory that they share with their parent. */
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
