/* SPDX-License-Identifier: Apache-2.0 */
/* Coverage counters of libFuzzer: how often each place of the code was reached. A child's copies
 * would be lost, so its counters are shared memory. Outside of libFuzzer there are no counters. */
#ifndef TESTS_FUZZ_COUNTERS_H
#define TESTS_FUZZ_COUNTERS_H

/* Once, before the first fork. */
void counters_share(void);
/* At the end of a child; then in its parent. */
void counters_give(void);
void counters_take(void);

#endif
