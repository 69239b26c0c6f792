/**
 * What a shell runs around a command.
 *
 * Two processes: a supervisor, which leads the process group and is the `$PPID` that a command sees, and the shell of the command. The
 * supervisor outlives every signal that can be caught, so that `kill $PPID` and `kill 0` hit neither the host nor the record. It ends as
 * the command's shell did: with its exit code, or with 128 more than the number of the signal that ended it.
 *
 * Neither text stands in an argument list, nor does the command's: `pkill -f` with a word of a command finds only what that command
 * started itself. They come in the environment, and the command over a channel that both the supervisor and the shell read from:
 *
 * 1. the supervisor writes a line when it is up, and waits for one
 * 2. that line has come: it starts the shell
 * 3. the shell reads the command up to the end mark and runs it as `bash -c` would; without the mark it ran out, and nothing runs
 */

import * as OperatingSystem from "node:os"
import type { ShellExit } from "../ShellBackend.js"

/** The number of the channel's file descriptor in the supervisor. */
export const channel = 3

/** Both ends of the pipe for output, while the supervisor waits. */
export const pipe = 5

/** What a shell that was not given a command ends with. */
const notGiven = 125

/** All that can be caught and would end a shell, or stop it. */
const signals = "HUP INT QUIT PIPE ALRM TERM USR1 USR2 XCPU XFSZ VTALRM PROF TSTP TTIN TTOU"

const lastWord = "over"

/**
 * The arguments of the shell. The backslash keeps the ordinary word out of the argument list.
 */
const load = (variable: string): string => `e\\val "$${variable}"`

/** The name of a variable that holds a text until it runs. */
const supervisorVariable = "AFTERTURN_SUPERVISOR"
const commandVariable = "AFTERTURN_COMMAND"

/**
 * `opensPipe`: stdout and stderr go to a pipe that the supervisor opens and the host takes the read end of, through `/proc`. A socket,
 * which is what Node hands to a child, cannot be opened as `/dev/stdout` on Linux.
 */
const supervisorText = (opensPipe: boolean): string =>
  [
    `unset ${supervisorVariable}`,
    closeOthers,
    opensPipe ? `exec ${pipe}<> <(:)` : "",
    `echo up >&${channel}`,
    `read -r __line <&${channel} || exit ${notGiven}`,
    `trap '' ${signals}`,
    // `wait` makes no difference between a signal and an exit code above 128; the list of jobs does, while it still has the job.
    `trap 'jobs >&${channel}' CHLD`,
    opensPipe ? `exec >/dev/fd/${pipe} ${pipe}>&-` : "",
    // One line: between two lines an ended job is taken off the list.
    `{ ${shellText}; } 2>&1 & jobs >&${channel}; wait $!; __code=$?`,
    `echo ${lastWord} >&${channel}`,
    "exit $__code"
  ]
    .filter((line) => line !== "")
    .join("\n")

/**
 * Node closes its own files in what it starts, native modules do not: a command could read what is shown in a terminal of the host. The
 * number of the folder's own file, which is closed by then, does no harm.
 */
const closeOthers = `for __fd in /dev/fd/*; do case \${__fd##*/} in [0-${channel}] | '*') ;; *) eval "exec \${__fd##*/}>&-" ;; esac; done`

/** The shell of a command takes signals as the host's children do. */
const shellText = `trap - ${signals}; exec "$BASH" -c '${load(commandVariable)}' bash`

/**
 * Runs before the command in its shell, and leaves nothing behind in it. The command passes through `$_`, with a dot behind its last line
 * breaks, which a substitution would take away.
 */
const commandText = (endMark: string): string =>
  [
    `unset ${commandVariable}`,
    `: "$(__text=$(command -p cat <&${channel})`,
    `case $__text in *${endMark}) printf %s. "\${__text%${endMark}}" ;; *) printf 'exit ${notGiven}.' ;; esac)"`,
    `eval "\${_%.}" ${channel}<&-`
  ].join("; ")

/**
 * What to start the shell with. `endMark` is a word that no command holds by chance.
 */
export const launch = (options: { readonly opensPipe: boolean; readonly endMark: string }) => ({
  args: ["-c", load(supervisorVariable)],
  environment: {
    [supervisorVariable]: supervisorText(options.opensPipe),
    [commandVariable]: commandText(options.endMark)
  }
})

/** What goes over the channel, once the command may run. */
export const handover = (command: string, endMark: string): string => `go\n${command}${endMark}`

/**
 * How the command's shell ended, from the supervisor's exit code and its words. `undefined`: its last word has not come.
 *
 * An ended job shows its exit code, in every language, or else the name of the signal that ended it; one that runs shows a `&` at the
 * end.
 */
export const exitOf = (code: number, words: string): ShellExit | undefined => {
  const exited: ShellExit = { _tag: "Exited", code }
  const signal = signalOf(code - 128)
  if (signal === undefined) return exited
  const lines = words.split("\n").map((line) => line.trimEnd())
  if (!lines.includes(lastWord)) return undefined
  const ended = lines.find((line) => line.startsWith("[") && !line.endsWith("&"))
  return ended === undefined || ended.includes(` ${code} `) ? exited : { _tag: "Signaled", signal }
}

const signalOf = (number: number): string | undefined =>
  Object.entries(OperatingSystem.constants.signals).find(([, value]) => value === number)?.[0]
