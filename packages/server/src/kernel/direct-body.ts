import { Readable, type Writable } from "node:stream"

/**
 * A body that can write itself: its bytes then go from its source to the connection through a few buffers that are used
 * again and again, where a stream takes new memory for each chunk. Whoever wants to read it reads it as any stream.
 */
export abstract class DirectBody extends Readable {
  /** Writes all of it and leaves the target open; rejects when source or target fails. Instead of reading it, and once. */
  abstract sendTo(target: Writable): Promise<void>
}

/** Resolves when the target has let go of the bytes, which may then change; rejects when it never will. */
export const createWriter = (target: Writable) => {
  let fail: (reason: unknown) => void = () => undefined
  const onClose = () => fail(new Error("the connection was closed"))
  target.once("close", onClose)
  return {
    write: (bytes: Uint8Array) =>
      new Promise<void>((resolve, reject) => {
        fail = reject
        if (target.destroyed) onClose()
        else target.write(bytes, error => (error ? reject(error) : resolve()))
      }),
    [Symbol.dispose]: () => void target.off("close", onClose),
  }
}
