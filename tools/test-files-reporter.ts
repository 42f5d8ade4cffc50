/** A reporter of `node --test` for `tools/test.ts`: one line of JSON for each test file that ended and each that failed. */
import { resolve } from "node:path"

interface RunnerEvent {
  readonly type: string
  readonly data: {
    readonly name: string
    readonly file?: string
    readonly details?: { readonly duration_ms?: number }
  }
}

export interface FileLine {
  readonly file: string
  /** How long the file's process took, in milliseconds; absent in the line of a failure. */
  readonly durationMs?: number
}

// The runner loads reporters by their default export.
// biome-ignore lint/style/noDefaultExport: see above
export default async function* reporter(source: AsyncIterable<RunnerEvent>): AsyncGenerator<string> {
  for await (const { type, data } of source) {
    if (data.file === undefined) continue
    // The event of a whole file has the file's path, as it was given, as its name.
    if (type === "test:complete" && resolve(data.name) === data.file)
      yield `${JSON.stringify({ file: data.file, durationMs: data.details?.duration_ms ?? 0 })}\n`
    if (type === "test:fail") yield `${JSON.stringify({ file: data.file })}\n`
  }
}
