/** What a server connection has been asked and not answered yet, as far as answers have to be told apart. */

/** What becomes of the answer to a Parse or Close: the client gets it, does not, or gets it as that of a Parse. */
export type Fate = "pass" | "drop" | "as-parsed"

export type Expectation =
  | { readonly kind: "parse"; readonly fate: Fate; readonly failed: () => void }
  | { readonly kind: "close"; readonly fate: Fate; readonly failed?: () => void }
  /** Ends with a ReadyForQuery. */
  | { readonly kind: "sync" | "query"; readonly failed?: () => void }

export interface Expectations {
  push(expected: Expectation): void
  /** The answer to the first, which must be of that kind; undefined when it is not. */
  answered(kind: "parse" | "close"): Fate | undefined
  /** The server is ready again: what comes before the mark was skipped after an error. False when nothing was asked. */
  ready(): boolean
  /** Syncs that reach a server in the middle of a COPY are not answered. */
  copyIn(copyEnded: boolean): void
  readonly isEmpty: boolean
}

export const createExpectations = (): Expectations => {
  let queue: Expectation[] = []
  let head = 0

  const shift = () => {
    head += 1
    if (head === queue.length) {
      queue = []
      head = 0
    }
  }

  return {
    push: expected => void queue.push(expected),
    answered(kind) {
      const first = queue[head]
      if (first?.kind !== kind) return undefined
      shift()
      return first.fate
    },
    ready() {
      const skipped: Expectation[] = []
      let isAnswered = false
      for (let first = queue[head]; first && !isAnswered; first = queue[head]) {
        shift()
        isAnswered = first.kind === "sync" || first.kind === "query"
        if (!isAnswered) skipped.push(first)
      }
      // What was done in advance is undone, the last first.
      for (const { failed } of skipped.toReversed()) failed?.()
      return isAnswered
    },
    copyIn(copyEnded) {
      if (copyEnded || queue[head]?.kind === "query") return
      queue = queue.slice(head).filter(({ kind }) => kind !== "sync")
      head = 0
    },
    get isEmpty() {
      return head === queue.length
    },
  }
}
