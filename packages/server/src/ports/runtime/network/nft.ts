/** A program of nft that runs all the time, told one line after the other: it takes a tenth of what starting one takes. */
import { createInterface } from "node:readline"
import type { Duplex } from "node:stream"
import { PortError } from "../../port-error.ts"
import { DONE_CHAIN } from "./rules.ts"

export interface Nft extends Disposable {
  /** One transaction: all of it or nothing. Rejects with `unavailable`, and what nft says. */
  run(text: string): Promise<void>
  hasEnded(): boolean
}

const SAID_MAX = 500

/** `table` must have a chain of that name as soon as the first text was run. */
export const createNft = (stream: Duplex, table: string): Nft => {
  const waiting: PromiseWithResolvers<void>[] = []
  let said: string[] = []
  let hasEnded = false

  const answer = () => {
    const problem = said.join(" ").slice(0, SAID_MAX)
    said = []
    const turn = waiting.shift()
    if (problem) turn?.reject(new PortError("unavailable", `nft: ${problem}`))
    else turn?.resolve()
  }
  createInterface({ input: stream }).on("line", text => {
    if (/^\s*chain done \{/.test(text)) answer()
    else if (text.startsWith("Error: ")) said.push(text.slice("Error: ".length))
  })
  const end = () => {
    hasEnded = true
    for (const { reject } of waiting.splice(0)) reject(new PortError("unavailable", "nft has ended"))
  }
  stream.on("close", end).on("error", end)

  return {
    run(text) {
      if (hasEnded) return Promise.reject(new PortError("unavailable", "nft has ended"))
      const turn = Promise.withResolvers<void>()
      waiting.push(turn)
      stream.write(`${text}\nlist chain ${table} ${DONE_CHAIN}\n`)
      return turn.promise
    },
    hasEnded: () => hasEnded,
    [Symbol.dispose]() {
      hasEnded = true
      stream.destroy()
    },
  }
}
