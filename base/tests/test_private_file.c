/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/private_file.h"

Test(private_file, others_may_not_have_any_access)
{
    static const struct {
        mode_t mode;
        bool is_private;
    } cases[] = {{0600, true},  {0640, true},  {0660, true}, {0644, false},
                 {0604, false}, {0602, false}, {0601, false}};
    char path[] = "/tmp/gpuaas-private-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(fchmod(fd, cases[i].mode), 0);
        cr_assert_eq(ga_file_is_private(path), cases[i].is_private, "%o", cases[i].mode);
    }
    close(fd);
    unlink(path);
    cr_assert(ga_file_is_private(path), "there is none any more");
}
