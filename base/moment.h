/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as texts, in UTC: one form for people, two for programs (RFC 3339). */
#ifndef BASE_MOMENT_H
#define BASE_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#define GA_MOMENT_BYTES 40u /* of a text, with its end */

/* "2026-11-30 21:26 UTC", of seconds since 1970; "an unknown time" where there is no such date. */
void ga_moment_for_people(int64_t seconds, char text[GA_MOMENT_BYTES]);
/* "2026-11-30T21:26:08Z". False, and "": there is no such date. */
bool ga_moment_write(int64_t seconds, char text[GA_MOMENT_BYTES]);
/* "2026-11-30T21:26:08.123Z", of milliseconds. */
bool ga_moment_write_ms(int64_t milliseconds, char text[GA_MOMENT_BYTES]);

#endif
