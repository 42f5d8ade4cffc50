import type { RagFormat } from "@svc/contract"
import type { ReadFile } from "./read-file.ts"

export interface ReadTask {
  readonly bytes: Uint8Array
  readonly format: RagFormat
}

/** Sent first: the time limit of a file does not count how long its thread takes to start. */
export const READY = "ready"

export type ReadReply = ReadFile | { readonly problem: string }
