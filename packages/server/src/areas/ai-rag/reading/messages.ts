import type { RagFormat } from "@svc/contract"
import type { ReadFile } from "./read-file.ts"

export interface ReadTask {
  readonly bytes: Uint8Array
  readonly format: RagFormat
}

/** Told first, so that the time that a thread takes to begin is none of the file's. */
export const READY = "ready"

export type ReadReply = ReadFile | { readonly problem: string }
