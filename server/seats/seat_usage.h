/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a seat that the room of usage gets. */
#ifndef SERVER_SEATS_SEAT_USAGE_H
#define SERVER_SEATS_SEAT_USAGE_H

struct seat;

/* Its process, room, number and application are known; it has been taken now. */
void seat_usage_begin(struct seat *seat);

#endif
