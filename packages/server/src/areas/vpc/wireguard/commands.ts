/** Programs of the host, by argument vectors. */
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CHILD_ENVIRONMENT } from "../../../kernel/db/embedded/processes.ts"

const COMMAND_MS_MAX = 10_000
const OUTPUT_BYTES_MAX = 4 * 1024 * 1024
const ERROR_CHARACTERS_MAX = 500

/** A program that is missing, or ended with another status than 0. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed"
  readonly isMissing: boolean

  constructor(message: string, isMissing: boolean) {
    super(message)
    this.isMissing = isMissing
  }
}

const messageOf = (program: string, stderr: string, status: string): string =>
  `${program}: ${stderr.trim().slice(0, ERROR_CHARACTERS_MAX) || `ended with ${status}`}`

/**
 * A file without a name, which is gone when it is closed: Node's pipes are sockets, and `wg` cannot open a socket by
 * the name /dev/stdin.
 */
const openInput = (text: string): number => {
  const path = join(tmpdir(), `svc-${randomUUID()}`)
  const file = openSync(path, "wx+", 0o600)
  unlinkSync(path)
  // At a position, so that who reads it begins at its beginning.
  writeSync(file, text, 0)
  return file
}

/** What it writes. Secrets go to its input, which no list of processes shows. */
export const command = (program: string, args: readonly string[], input = ""): Promise<string> =>
  new Promise((resolve, reject) => {
    const file = input === "" ? undefined : openInput(input)
    const child = spawn(program, args, {
      env: CHILD_ENVIRONMENT,
      stdio: [file ?? "ignore", "pipe", "pipe"],
      timeout: COMMAND_MS_MAX,
      killSignal: "SIGKILL",
    })
    if (file !== undefined) closeSync(file)
    let stdout = ""
    let stderr = ""
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      if (stdout.length < OUTPUT_BYTES_MAX) stdout += text
    })
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      if (stderr.length < ERROR_CHARACTERS_MAX) stderr += text
    })
    child.once("error", (error: NodeJS.ErrnoException) =>
      reject(new CommandFailed(messageOf(program, error.message, ""), error.code === "ENOENT")),
    )
    child.once("close", (code, signal) =>
      code === 0
        ? resolve(stdout)
        : reject(new CommandFailed(messageOf(program, stderr, `status ${code ?? signal}`), false)),
    )
  })

/** Whether it succeeded; for what may be gone already. */
export const attempt = (program: string, args: readonly string[]): Promise<boolean> =>
  command(program, args).then(
    () => true,
    () => false,
  )
