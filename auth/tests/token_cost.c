/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for admission with a token that is refused, as often as told; token_cost.py counts the
 * instructions. usage: token_cost first|last|all|unknown TIMES */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth/token.h"

#define NOW 1000000

static void must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s\n", what);
        exit(2);
    }
}

/* A token that is wrong where `what` says, of a known credential or of none. */
static void token_spoil(char *token, const char *what)
{
    char *id = token + strlen("gpuaas_"), *secret = id + TOKEN_ID_CHARS + 1;
    if (strcmp(what, "first") == 0) {
        secret[0] = secret[0] == 'A' ? 'z' : 'A';
    } else if (strcmp(what, "last") == 0) { /* a multiple of four: its last bits are not used */
        secret[42] = secret[42] == 'A' ? 'E' : 'A';
    } else if (strcmp(what, "all") == 0) {
        for (unsigned i = 0; i < 42; i++) {
            secret[i] = secret[i] == '-' ? '0' : '-';
        }
    } else {
        must(strcmp(what, "unknown") == 0, "first, last, all or unknown");
        id[0] = id[0] == 'a' ? 'b' : 'a';
    }
}

int main(int argc, char **argv)
{
    char token[AUTH_TOKEN_BYTES], why[300] = "";
    struct store *store;
    struct store_credential made;
    must(argc == 3, "usage: token_cost first|last|all|unknown TIMES");
    must(store_open(":memory:", &store, why, sizeof why) == GA_OK, why);
    must(auth_token_issue(store, "default", "", "", 3600, NOW, token, &made, why, sizeof why) ==
             GA_OK,
         why);
    token_spoil(token, argv[1]);
    for (long i = strtol(argv[2], NULL, 10); i > 0; i--) {
        struct auth *auth; /* a new one, where nobody has failed before */
        struct auth_claim claim = {.token = token};
        struct auth_grant grant;
        struct auth_refusal refusal;
        must(auth_open(store, &auth) == GA_OK, "no memory");
        must(auth_admit(auth, &claim, NOW, 1, &grant, &refusal) == GA_DENIED, "it is let in");
        must(refusal.reason == (strcmp(argv[1], "unknown") == 0 ? AUTH_UNKNOWN : AUTH_WRONG),
             auth_reason_name(refusal.reason));
        auth_close(auth);
    }
    store_close(store);
    return 0;
}
