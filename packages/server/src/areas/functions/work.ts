/** What is asked of instances, and what comes of it. */
import type { Readable } from "node:stream"
import type { Image } from "../../services/images/images.ts"
import type { FunctionError } from "./frames.ts"
import type { LanguageRuntime } from "./runtimes.ts"

/** What one instance is asked to do. */
export interface Work {
  readonly invocationId: string
  /** What the harness gets beside id and deadline. */
  readonly frame: object
  readonly timeoutMs: number
  /** Aborts when nobody waits for the answer any more. */
  readonly signal?: AbortSignal
  /** Takes a reply whose body comes while it is made; `reply` is not checked yet. Without it a reply is whole. */
  readonly stream?: (reply: unknown, body: Readable) => void
}

export interface WorkResult {
  readonly status: "success" | "error" | "timeout"
  readonly result: unknown
  /** Of a request; not checked yet, and without its body where that was streamed. */
  readonly reply: unknown
  readonly error: FunctionError | null
  readonly durationMs: number
  readonly maxMemoryMb: number | null
  readonly responseBytes: number
}

/** All that an instance is made from. */
export interface FunctionSpec {
  readonly functionId: string
  readonly organizationId: string
  readonly version: number
  readonly language: LanguageRuntime
  readonly handler: string
  readonly codeSha256: string
  readonly memoryMb: number
  readonly vcpus: number
  readonly concurrency: number
  readonly readCode: () => Promise<Buffer>
  /** Of a function that is a program of an image. Rejects with an ImageError. */
  readonly openImage: (() => Promise<Image>) | undefined
  readonly openEnv: () => Promise<Readonly<Record<string, string>>>
}

export interface Outcome extends WorkResult {
  readonly queueMs: number
  readonly coldStart: boolean
  /** Null when it was not this invocation that began an instance. */
  readonly initMs: number | null
}
