import type { Flags, Globals } from "../arguments.ts"
import type { Terminal } from "../terminal.ts"

/** A command that is no operation of the contract. Gives the exit code; nothing where it succeeded. */
export type Extra = (
  globals: Globals,
  words: readonly string[],
  terminal: Terminal,
  flags: Flags,
) => Promise<number | undefined>
