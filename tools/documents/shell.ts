/** One shell for a page: variables and folders of one block are there in the next, as for a reader. */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Readable, Writable } from "node:stream"

/** Longer than any block takes, also on a busy machine. */
const BLOCK_MS_MAX = 120_000

/** Printed behind each block; nothing else prints a record separator. */
const MARK = "\u001e"

export interface BlockResult {
  /** Every command of the block succeeded. */
  readonly isDone: boolean
  readonly printed: string
  readonly errors: string
}

export class PageShell implements AsyncDisposable {
  readonly #script: string
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #exited: Promise<unknown>
  #printed = ""
  #errors = ""

  constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.#script = join(folder, ".block.sh")
    // A group of its own, so that what a page leaves running in the background ends with it.
    this.#child = spawn("bash", ["-eo", "pipefail"], { cwd: folder, env, detached: true, stdio: "pipe" })
    this.#exited = once(this.#child, "exit")
    this.#child.stdin.on("error", () => undefined)
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.#printed += text
    })
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#errors += text
    })
  }

  async run(commands: string): Promise<BlockResult> {
    this.#printed = ""
    this.#errors = ""
    writeFileSync(this.#script, `${commands}\n`)
    this.#child.stdin.write(`source ${this.#script} </dev/null\nprintf '${MARK}'\n`)
    const signal = AbortSignal.timeout(BLOCK_MS_MAX)
    while (!this.#printed.includes(MARK) && this.#child.exitCode === null && !signal.aborted)
      await Promise.race([once(this.#child.stdout, "data", { signal }), this.#exited]).catch(() => undefined)
    const isDone = this.#printed.includes(MARK)
    return { isDone, printed: this.#printed.replace(MARK, ""), errors: this.#errors }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, "SIGKILL")
    } catch {
      // The whole group has ended by itself.
    }
    await this.#exited
  }
}
