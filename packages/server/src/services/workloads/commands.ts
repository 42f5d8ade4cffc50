/** Runs commands of callers in workloads: bounded in time and output, whatever they do. */
import { constants } from "node:os"
import type { Readable } from "node:stream"
import { finished } from "node:stream/promises"
import { EXEC_TIMEOUT_SECONDS_DEFAULT } from "@svc/contract"
import type { Command, Exit, GuestProcess, GuestUser } from "../../ports/runtime/port.ts"

/** A command as callers write it. */
export interface CommandInput {
  readonly command: string | readonly string[]
  readonly args?: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly user?: GuestUser
  readonly stdin?: string
  readonly timeout_seconds?: number
}

/** What a workload says of commands that leave it open. */
export interface CommandDefaults {
  readonly cwd: string
  readonly user: GuestUser
  readonly env: Readonly<Record<string, string>>
}

/** The login shell of the user. */
export const LOGIN_SHELL = ["/bin/sh", "-c", 'exec "$SHELL" -l'] as const

/** A string alone is for the shell; anything else is an argument vector. */
export const argvOf = ({ command, args }: CommandInput): readonly [string, ...string[]] => {
  if (typeof command === "string") return args ? [command, ...args] : ["/bin/sh", "-c", command]
  const [program = "", ...rest] = command
  return [program, ...rest, ...(args ?? [])]
}

export const commandOf = (input: CommandInput, defaults: CommandDefaults): Command => ({
  argv: argvOf(input),
  cwd: input.cwd ?? defaults.cwd,
  user: input.user ?? defaults.user,
  env: { ...defaults.env, ...input.env },
})

export interface Outcome {
  readonly exitCode: number
  readonly signal: string | null
  readonly timedOut: boolean
  readonly durationMs: number
}

export interface Outputs {
  /** False: no more until `drained` calls back. */
  take(name: "stdout" | "stderr", chunk: Buffer): boolean
  drained(resume: () => void): void
}

/** As `timeout` of coreutils answers. */
const TIMED_OUT_CODE = 124
/** A workload that does not even die is not waited for. */
const KILLED_MS_MAX = 3_000

const signalNumbers: Readonly<Record<string, number>> = constants.signals

export const codeOf = ({ code, signal }: Exit): number => code ?? 128 + (signalNumbers[signal ?? ""] ?? 0)

/** Resolves when all output of the command was read; output of its background processes is dropped. */
const follow = (source: Readable, name: "stdout" | "stderr", outputs: Outputs): Promise<void> => {
  source.on("data", (chunk: Buffer) => {
    if (outputs.take(name, chunk)) return
    source.pause()
    outputs.drained(() => source.resume())
  })
  // How the command ended is told by its exit; a pipe that breaks adds nothing.
  return finished(source).catch(() => undefined)
}

/** What a command is ended by when it does not end by itself: its time, or a caller who went away. */
const createLimits = (process: GuestProcess, timeoutMs: number, signal: AbortSignal) => {
  const over = Promise.withResolvers<undefined>()
  let timedOut = false
  const kill = () => {
    process.kill("SIGKILL")
    setTimeout(() => over.resolve(undefined), KILLED_MS_MAX).unref()
  }
  const timer = setTimeout(() => {
    timedOut = true
    kill()
  }, timeoutMs)
  signal.addEventListener("abort", kill, { once: true })
  if (signal.aborted) kill()
  return {
    /** A killed command that is not gone after a while is not waited for. */
    over: over.promise,
    timedOut: () => timedOut,
    [Symbol.dispose]() {
      clearTimeout(timer)
      signal.removeEventListener("abort", kill)
    },
  }
}

const KILLED: Exit = { code: null, signal: "SIGKILL" }

/**
 * Follows a command to its end, or to its timeout, after which it is killed with its whole group. Rejects when the
 * workload ended under it.
 */
export const followCommand = async (
  process: GuestProcess,
  {
    stdin = "",
    timeout_seconds = EXEC_TIMEOUT_SECONDS_DEFAULT,
  }: Pick<CommandInput, "stdin" | "timeout_seconds">,
  outputs: Outputs,
  signal: AbortSignal,
): Promise<Outcome> => {
  const startedMs = performance.now()
  // A command need not read what it is sent.
  process.stdin.on("error", () => undefined)
  process.stdin.end(stdin)
  const written = Promise.all([
    follow(process.stdout, "stdout", outputs),
    follow(process.stderr, "stderr", outputs),
  ])
  using limits = createLimits(process, timeout_seconds * 1000, signal)
  const exit = (await Promise.race([process.exited, limits.over])) ?? KILLED
  await Promise.race([written, limits.over])
  const timedOut = limits.timedOut()
  return {
    exitCode: timedOut ? TIMED_OUT_CODE : codeOf(exit),
    signal: exit.signal,
    timedOut,
    durationMs: Math.round(performance.now() - startedMs),
  }
}

export const toOutcome = ({ exitCode, signal, timedOut, durationMs }: Outcome) => ({
  ...{ exit_code: exitCode, duration_ms: durationMs, timed_out: timedOut, signal },
})
