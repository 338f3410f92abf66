/* SPDX-License-Identifier: Apache-2.0 */
/* What libFuzzer learns by: how often each place of the code was reached. In a child's memory that
 * would be lost. Elsewhere than under libFuzzer there are no such counters. */
#ifndef TESTS_FUZZ_COUNTERS_H
#define TESTS_FUZZ_COUNTERS_H

/* Once, before the first fork. */
void counters_share(void);
/* At the end of a child; then in its parent. */
void counters_give(void);
void counters_take(void);

#endif
