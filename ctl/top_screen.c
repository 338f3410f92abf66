/* SPDX-License-Identifier: Apache-2.0 */
/* The command `top`: on a terminal, or as text for scripts. */
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/digits.h"
#include "ctl/top.h"

#define INTERVAL_S_MAX   3600u
#define FIRST_LOOK_MS    300 /* between the first two: shares need both */
#define ITERATIONS_MAX   1000000u
#define TOP_NOTE_COLUMNS 200
#define KEY_ESCAPE       27
#define KEY_INTERRUPT    3

static enum admin_code top_number(const struct ctl_line *line, enum ctl_option option,
                                  uint64_t most, uint64_t *number)
{
    const char *text = line->options[option], *end;
    if (text == NULL) {
        return ADMIN_OK;
    }
    if (!ga_digits_read(text, &end, number) || *end != 0 || *number == 0 || *number > most) {
        return ctl_wrong(ADMIN_USAGE, "--%s %s: give a number, 1 to %llu", ctl_options[option].word,
                         text, (unsigned long long)most);
    }
    return ADMIN_OK;
}

/* ---- for scripts */

/* A terminal's lines are cut where it would wrap them. */
static void batch_write(const struct top *top)
{
    struct winsize window;
    char *text = NULL;
    size_t size = 0;
    bool narrow = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 &&
                  window.ws_col != 0;
    FILE *out = narrow ? open_memstream(&text, &size) : NULL;
    ctl_top_write(top, out != NULL ? out : stdout);
    if (out == NULL || fclose(out) != 0) {
        return;
    }
    for (char *at = text, *next; *at != 0; at = next) {
        next = at + strcspn(at, "\n");
        printf("%.*s\n", (int)ctl_text_fit(at, (size_t)(next - at), window.ws_col), at);
        next += *next == '\n';
    }
    free(text);
}

static enum admin_code top_batch(struct top *top, uint64_t interval_s, uint64_t iterations)
{
    char why[1000];
    enum admin_code code = ctl_top_look(top, why, sizeof why);
    for (uint64_t i = 0; code == ADMIN_OK && i < iterations; i++) {
        (void)poll(NULL, 0, i == 0 ? FIRST_LOOK_MS : (int)interval_s * 1000);
        code = ctl_top_look(top, why, sizeof why);
        if (code != ADMIN_OK) {
            break;
        }
        if (ctl_has(top->line, OPTION_JSON)) {
            code = ctl_print_json("Top", top->frame);
        } else {
            fputs(i != 0 ? "\n" : "", stdout);
            batch_write(top);
        }
        if (fflush(stdout) != 0) {
            return code;
        }
    }
    return code == ADMIN_OK ? ADMIN_OK : ctl_wrong(code, "%s", why);
}

/* ---- on a terminal */

static char top_note[TOP_NOTE_COLUMNS]; /* in the last line: what a key has done */

static void screen_draw(const struct top *top, const char *why)
{
    char *text = NULL;
    size_t size = 0;
    int row = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        return;
    }
    if (top->frame != NULL) {
        ctl_top_write(top, out);
    }
    if (fclose(out) != 0) {
        return;
    }
    erase();
    for (char *at = text, *next; *at != 0 && row < LINES - 1; at = next, row++) {
        next = at + strcspn(at, "\n");
        (void)mvaddnstr(row, 0, at, (int)ctl_text_fit(at, (size_t)(next - at), (unsigned)COLS));
        next += *next == '\n';
    }
    (void)attron(A_REVERSE);
    (void)mvaddnstr(LINES - 1, 0,
                    why[0] != 0 ? why
                    : top_note[0] != 0
                        ? top_note
                        : "q quit  b busy  m memory  t tenant  a age  k kill  d drain",
                    COLS);
    (void)attroff(A_REVERSE);
    (void)refresh();
    free(text);
}

/* Asks for a text in the last line. False: nothing was given, or Escape (or ^C) was typed. */
static bool screen_ask(const char *question, char *answer, int size)
{
    int length = 0, key;
    answer[0] = 0;
    timeout(-1);
    for (;;) {
        (void)move(LINES - 1, 0);
        (void)clrtoeol();
        (void)addnstr(question, COLS);
        (void)addnstr(answer, COLS);
        (void)refresh();
        key = getch();
        if (key == KEY_ESCAPE || key == KEY_INTERRUPT || key == ERR) {
            answer[0] = 0;
            return false;
        }
        if (key == '\n' || key == '\r' || key == KEY_ENTER) {
            return answer[0] != 0;
        }
        if (key == KEY_BACKSPACE || key == '\b' || key == 0x7f) {
            length -= length > 0;
            answer[length] = 0;
        } else if (key >= ' ' && key < 0x100 && length < size - 1) {
            answer[length++] = (char)key;
            answer[length] = 0;
        }
    }
}

static void screen_do(const struct top *top, const char *verb, json_t *arguments)
{
    char why[1000] = "";
    json_t *result;
    if (ctl_ask_quietly(top->line, verb, arguments, &result, why, sizeof why) == ADMIN_OK) {
        json_decref(result);
        snprintf(top_note, sizeof top_note, "%s: done", verb);
    } else {
        snprintf(top_note, sizeof top_note, "%.190s", why);
    }
}

static void screen_kill(const struct top *top)
{
    char id[40] = "", reason[150] = "";
    if (screen_ask("end which session? ", id, sizeof id) &&
        screen_ask("why? (nothing: leave it) ", reason, sizeof reason)) {
        screen_do(top, "session.kill", json_pack("{s:s, s:s}", "id", id, "reason", reason));
    }
}

static void screen_drain(const struct top *top)
{
    char gpu[12] = "", reason[150] = "";
    const char *end;
    uint64_t number;
    if (!screen_ask("drain which GPU? (its number, or node) ", gpu, sizeof gpu) ||
        !screen_ask("why? (nothing: leave it) ", reason, sizeof reason)) {
        return;
    }
    json_t *arguments = json_pack("{s:s}", "reason", reason);
    if (ga_digits_read(gpu, &end, &number) && *end == 0) {
        (void)json_object_set_new(arguments, "gpu", json_integer((json_int_t)number));
    } else if (strcmp(gpu, "node") != 0) {
        json_decref(arguments);
        snprintf(top_note, sizeof top_note, "%s is neither a number nor node", gpu);
        return;
    }
    screen_do(top, "drain", arguments);
}

/* False: it is over. */
static bool screen_key(struct top *top, int key)
{
    static const struct {
        int key;
        enum top_order order;
    } orders[] = {
        {'b', TOP_BY_BUSY}, {'m', TOP_BY_MEMORY}, {'t', TOP_BY_TENANT}, {'a', TOP_BY_AGE}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (orders[i].key == key) {
            top->order = orders[i].order;
        }
    }
    top_note[0] = key != ERR ? 0 : top_note[0];
    if (key == 'k') {
        screen_kill(top);
    } else if (key == 'd') {
        screen_drain(top);
    }
    return key != 'q' && key != KEY_ESCAPE && key != KEY_INTERRUPT;
}

/* Its window was closed, or its connection has ended. */
static bool screen_is_gone(void)
{
    struct pollfd at = {.fd = STDIN_FILENO};
    return poll(&at, 1, 0) == 1 && (at.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

static enum admin_code top_screen(struct top *top, uint64_t interval_s)
{
    char why[1000] = "";
    enum admin_code code = ctl_top_look(top, why, sizeof why);
    if (code != ADMIN_OK) {
        return ctl_wrong(code, "%s", why);
    }
    if (initscr() == NULL) {
        return ctl_wrong(ADMIN_ERROR, "this terminal cannot be used; -b prints text");
    }
    (void)cbreak();
    (void)noecho();
    (void)keypad(stdscr, TRUE); /* what an arrow sends is no Escape */
    set_escdelay(50);
    (void)curs_set(0);
    int wait_ms = FIRST_LOOK_MS, key;
    do {
        screen_draw(top, code != ADMIN_OK ? why : "");
        timeout(wait_ms);
        key = getch();
        wait_ms = (int)interval_s * 1000;
        code = ctl_top_look(top, why, sizeof why); /* it goes on if gpuaasd comes back */
    } while (screen_key(top, key) && !screen_is_gone());
    (void)endwin();
    return ADMIN_OK;
}

enum admin_code ctl_top(const struct ctl_line *line)
{
    struct top top = {.line = line};
    uint64_t interval_s = 1, iterations = ITERATIONS_MAX;
    bool batch = ctl_has(line, OPTION_BATCH) || ctl_has(line, OPTION_JSON);
    enum admin_code code = top_number(line, OPTION_INTERVAL, INTERVAL_S_MAX, &interval_s);
    if (code == ADMIN_OK) {
        code = top_number(line, OPTION_ITERATIONS, ITERATIONS_MAX, &iterations);
    }
    if (code == ADMIN_OK && !batch && ctl_has(line, OPTION_ITERATIONS)) {
        code = ctl_wrong(ADMIN_USAGE, "--iterations goes with --batch or --json");
    }
    if (code == ADMIN_OK && !batch && (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))) {
        code = ctl_wrong(ADMIN_USAGE, "there is no terminal: -b -n 1 prints the state once");
    }
    if (code != ADMIN_OK) {
        return code;
    }
    code = batch ? top_batch(&top, interval_s, iterations) : top_screen(&top, interval_s);
    ctl_top_fini(&top);
    return code;
}
