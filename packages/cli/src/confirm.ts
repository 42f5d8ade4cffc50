import { createInterface } from "node:readline/promises"
import { Writable } from "node:stream"
import { readInput, type Terminal, UsageError } from "./terminal.ts"

/** Asks before something is destroyed. Without a person to ask, only `--yes` lets it pass. */
export const confirmDestroying = async (
  what: string,
  yes: boolean | undefined,
  terminal: Terminal,
): Promise<void> => {
  if (yes) return
  if (!terminal.stdin.isTTY) throw new UsageError(`${what}: nobody can be asked here, so it needs --yes`)
  const question = createInterface({ input: terminal.stdin, output: process.stderr })
  try {
    const answer = await question.question(`${what}? [y/N] `)
    if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError("nothing was done")
  } finally {
    question.close()
  }
}

/** A secret from a person, without showing it, or from whatever is piped in. */
export const readSecret = async (prompt: string, terminal: Terminal): Promise<string> => {
  if (!terminal.stdin.isTTY) return (await readInput(terminal.stdin)).trim()
  terminal.err.line(prompt)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const question = createInterface({ input: terminal.stdin, output: nowhere, terminal: true })
  try {
    return (await question.question("")).trim()
  } finally {
    question.close()
  }
}
