/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of the command line: options anywhere, as in GNU programs; the command is the longest
 * that its words begin with. */
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/nearest.h"
#include "ctl/ctl.h"

#define TIMEOUT_S     10u
#define TIMEOUT_S_MAX 3600u

static const char *did_you_mean(const struct ga_nearest *nearest, const char *dashes)
{
    static char meant[80];
    meant[0] = 0;
    if (nearest->word != NULL) {
        snprintf(meant, sizeof meant, ", did you mean %s%s?", dashes, nearest->word);
    }
    return meant;
}

/* ---- options */

static enum admin_code no_option(const char *word, size_t length)
{
    struct ga_nearest nearest = ga_nearest_to(word, length);
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        ga_nearest_offer(&nearest, ctl_options[i].word);
    }
    return ctl_wrong(ADMIN_USAGE, "there is no option --%.*s%s (gpuaasctl --help)", (int)length,
                     word, did_you_mean(&nearest, "--"));
}

static enum admin_code line_option_set(struct ctl_line *line, unsigned option, const char *value)
{
    if (line->options[option] != NULL && strcmp(line->options[option], value) != 0) {
        return ctl_wrong(ADMIN_USAGE, "--%s is given twice, as %s and as %s",
                         ctl_options[option].word, line->options[option], value);
    }
    line->options[option] = value;
    return ADMIN_OK;
}

/* The value at `value`, or else in the next word. */
static enum admin_code line_option_take(struct ctl_line *line, unsigned option, const char *value,
                                        char ***at)
{
    const struct ctl_option_row *row = &ctl_options[option];
    if (row->value == NULL) {
        return value == NULL ? line_option_set(line, option, "")
                             : ctl_wrong(ADMIN_USAGE, "--%s takes no value", row->word);
    }
    if (value == NULL && (*at)[1] != NULL) {
        value = *++*at;
    }
    if (value == NULL || value[0] == 0) {
        return ctl_wrong(ADMIN_USAGE, "--%s needs a value: --%s %s (%.*s)", row->word, row->word,
                         row->value, (int)strcspn(row->help, "\n"), row->help);
    }
    return line_option_set(line, option, value);
}

static enum admin_code long_option(struct ctl_line *line, char ***at)
{
    const char *word = **at + 2;
    size_t length = strcspn(word, "=");
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        if (strlen(ctl_options[i].word) == length &&
            strncmp(ctl_options[i].word, word, length) == 0) {
            return line_option_take(line, i, word[length] == '=' ? word + length + 1 : NULL, at);
        }
    }
    return no_option(word, length);
}

/* Whether the words so far are this command's. */
static bool words_are(const struct ctl_line *line, const char *command)
{
    size_t first = line->word_count != 0 ? strlen(line->words[0]) : 0;
    if (first == 0 || strncmp(command, line->words[0], first) != 0) {
        return false;
    }
    return command[first] == 0 || (command[first] == ' ' && line->word_count > 1 &&
                                   strcmp(command + first + 1, line->words[1]) == 0);
}

/* The option of a letter. Where several have it, the command decides, whose words come first. */
static unsigned letter_find(const struct ctl_line *line, char letter)
{
    unsigned found = OPTION_COUNT;
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        bool taken = ctl_options[i].letter == letter;
        for (size_t k = 0; taken && found != OPTION_COUNT && k < ctl_command_count; k++) {
            if (words_are(line, ctl_commands[k].words) && (ctl_commands[k].options >> i & 1) != 0) {
                found = i;
            }
        }
        found = taken && found == OPTION_COUNT ? i : found;
    }
    return found;
}

/* Letters may stand together: -qy; the value of the last one may, too: -owide. */
static enum admin_code letter_options(struct ctl_line *line, char ***at)
{
    for (const char *letter = **at + 1; *letter != 0; letter++) {
        unsigned option = letter_find(line, *letter);
        if (option == OPTION_COUNT) {
            return ctl_wrong(ADMIN_USAGE, "there is no option -%c (gpuaasctl --help)", *letter);
        }
        bool takes = ctl_options[option].value != NULL;
        enum admin_code code =
            line_option_take(line, option, takes && letter[1] != 0 ? letter + 1 : NULL, at);
        if (code != ADMIN_OK || takes) {
            return code;
        }
    }
    return ADMIN_OK;
}

/* Takes the options out; the words that are none stay, ended by NULL. */
static enum admin_code options_take(char **argv, struct ctl_line *line)
{
    char **kept = argv;
    bool only_words = false;
    line->words = argv;
    for (char **at = argv; *at != NULL; at++) {
        enum admin_code code = ADMIN_OK;
        if (only_words || (*at)[0] != '-' || strcmp(*at, "-") == 0) {
            *kept++ = *at;
            line->word_count++;
        } else if (strcmp(*at, "--") == 0) {
            only_words = true;
        } else if ((*at)[1] == '-') {
            code = long_option(line, &at);
        } else {
            code = letter_options(line, &at);
        }
        if (code != ADMIN_OK) {
            return code;
        }
    }
    *kept = NULL;
    return ADMIN_OK;
}

/* ---- the command */

/* How many of the words are the command's; 0: it is another one. */
static unsigned command_words(const struct ctl_command *command, const struct ctl_line *line)
{
    const char *at = command->words;
    unsigned count = 0;
    while (*at != 0) {
        size_t length = strcspn(at, " ");
        if (count == line->word_count || line->words[count] == NULL ||
            strlen(line->words[count]) != length || strncmp(line->words[count], at, length) != 0) {
            return 0;
        }
        count++;
        at += length + (at[length] == ' ');
    }
    return count;
}

static bool is_first_word(const struct ctl_command *command, const char *word)
{
    size_t length = strcspn(command->words, " ");
    return strlen(word) == length && strncmp(command->words, word, length) == 0;
}

/* The second words that may stand behind `first`, or NULL; valid until the next call. */
static const char *second_words(const char *first)
{
    static char list[300];
    size_t at = 0;
    list[0] = 0;
    for (size_t i = 0; i < ctl_command_count; i++) {
        const char *second = strchr(ctl_commands[i].words, ' ');
        if (second != NULL && is_first_word(&ctl_commands[i], first) && at < sizeof list) {
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", at != 0 ? ", " : "",
                                   second + 1);
        }
    }
    return list[0] != 0 ? list : NULL;
}

static enum admin_code no_command(struct ctl_line *line, const char *first)
{
    const char *seconds = second_words(first);
    if (seconds != NULL && line->word_count == 1 && ctl_has(line, OPTION_HELP)) {
        line->group = first;
        return ADMIN_OK;
    }
    if (seconds != NULL && line->word_count == 1) {
        return ctl_wrong(ADMIN_USAGE, "%s what? one of: %s", first, seconds);
    }
    if (seconds != NULL) {
        return ctl_wrong(ADMIN_USAGE, "there is no command %s %s; there is: %s", first,
                         line->words[1], seconds);
    }
    struct ga_nearest nearest = ga_nearest_to(first, strlen(first));
    char word[32];
    for (size_t i = 0; i < ctl_command_count; i++) {
        size_t length = strcspn(ctl_commands[i].words, " ");
        if (length == strlen(ctl_commands[i].words)) {
            ga_nearest_offer(&nearest, ctl_commands[i].words);
        } else if (nearest.word == NULL) {
            snprintf(word, sizeof word, "%.*s", (int)length, ctl_commands[i].words);
            ga_nearest_offer(&nearest, word);
            if (nearest.word == word) {
                return ctl_wrong(ADMIN_USAGE, "there is no command %s, did you mean %s?", first,
                                 word);
            }
        }
    }
    return ctl_wrong(ADMIN_USAGE, "there is no command %s%s (gpuaasctl --help)", first,
                     did_you_mean(&nearest, ""));
}

static enum admin_code command_find(struct ctl_line *line)
{
    unsigned best = 0;
    const char *first = line->words[0];
    if (first == NULL) {
        return ADMIN_OK;
    }
    if (strcmp(first, "session") == 0) { /* people write both */
        static char sessions[] = "sessions";
        line->words[0] = sessions;
    }
    for (size_t i = 0; i < ctl_command_count; i++) {
        unsigned count = command_words(&ctl_commands[i], line);
        if (count > best) {
            best = count;
            line->command = &ctl_commands[i];
        }
    }
    if (best == 0) {
        return no_command(line, first);
    }
    line->words += best;
    line->word_count -= best;
    return ADMIN_OK;
}

/* ---- both together */

static enum admin_code words_check(const struct ctl_line *line)
{
    const struct ctl_command *command = line->command;
    if (line->word_count > command->most && command->most == 0) {
        const char *seconds = second_words(command->words);
        return ctl_wrong(ADMIN_USAGE, "%s takes no argument %s%s%s (gpuaasctl %s --help)",
                         command->words, line->words[0], seconds != NULL ? "; there is: " : "",
                         seconds != NULL ? seconds : "", command->words);
    }
    if (line->word_count > command->most || line->word_count < command->least) {
        return ctl_wrong(ADMIN_USAGE, "%s: the command is gpuaasctl %s %s",
                         line->word_count < command->least ? "an argument is missing"
                                                           : "too many arguments",
                         command->words, command->arguments);
    }
    return ADMIN_OK;
}

static enum admin_code options_check(struct ctl_line *line)
{
    uint64_t number;
    const char *end, *timeout = line->options[OPTION_TIMEOUT];
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        if (line->options[i] != NULL && ((line->command->options | CTL_ASKS) >> i & 1) == 0) {
            return ctl_wrong(ADMIN_USAGE, "%s has no option --%s (gpuaasctl %s --help)",
                             line->command->words, ctl_options[i].word, line->command->words);
        }
    }
    if (ctl_has(line, OPTION_JSON) && ctl_has(line, OPTION_CSV)) {
        return ctl_wrong(ADMIN_USAGE, "--json and --csv contradict each other");
    }
    if (ctl_has(line, OPTION_WIDE) && strcmp(line->options[OPTION_WIDE], "wide") != 0) {
        return ctl_wrong(ADMIN_USAGE, "--output %s: it is wide, or JSON by --json, or CSV by --csv",
                         line->options[OPTION_WIDE]);
    }
    if (timeout != NULL && (!ga_digits_read(timeout, &end, &number) || *end != 0 || number == 0 ||
                            number > TIMEOUT_S_MAX)) {
        return ctl_wrong(ADMIN_USAGE, "--timeout %s: give seconds, 1 to %u", timeout,
                         TIMEOUT_S_MAX);
    }
    line->timeout_s = timeout != NULL ? (unsigned)number : TIMEOUT_S;
    return ADMIN_OK;
}

enum admin_code ctl_line_read(char **argv, struct ctl_line *line)
{
    *line = (struct ctl_line){.command = NULL};
    enum admin_code code = options_take(argv, line);
    if (code == ADMIN_OK && line->word_count != 0) {
        code = command_find(line);
    }
    if (code != ADMIN_OK || line->command == NULL || ctl_has(line, OPTION_HELP)) {
        return code;
    }
    code = words_check(line);
    return code == ADMIN_OK ? options_check(line) : code;
}
